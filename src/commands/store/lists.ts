import { Readable } from 'node:stream';
import type { RefusedEvent } from '../../model/notices.ts';
import { changeFields, noticeStoryJson, refusedEventFields } from '../../printed/json.ts';
import { pageByPage } from '../../store/paging.ts';
import type { Change, KeptRequest, NoticeStory, Store } from '../../store/store.ts';
import { jsonLine, printable, printableInLine } from '../../support/text.ts';
import { changeLine, deliveryLine, type Io, noticeHead, obstaclesOf, refusedLine, when } from '../output.ts';

/** What `events` lists besides events, and how a list is printed. */

/** The options of a list. */
export interface ListOptions {
  /** Only what came since this time (ms). */
  readonly since?: number | undefined;
  readonly limit?: number | undefined;
  readonly json?: boolean | undefined;
  readonly csv?: boolean | undefined;
}

/** How many entries a person gets; a program gets all. */
const shownToPeople = 100;

const limitOf = ({ limit, json, csv }: ListOptions): number =>
  limit ?? (json || csv ? Number.MAX_SAFE_INTEGER : shownToPeople);

/** A list, newest first, and how its entries are printed. */
export interface List<Entry> {
  readonly entries: AsyncIterable<Entry>;
  readonly json: (entry: Entry) => object;
  readonly csv?: { readonly header: string; readonly line: (entry: Entry) => string };
  readonly text: (entry: Entry, io: Io) => string;
  readonly none: string;
  /** Makes lines for the end. */
  readonly end?: () => readonly string[];
}

export async function print<Entry>(list: List<Entry>, options: ListOptions, io: Io): Promise<void> {
  const limit = limitOf(options);
  const csv = options.csv ? list.csv : undefined;
  // Only a terminal needs safe text.
  const seen = (line: string) => (io.ask ? printable(line) : line);
  // The \r and the \n of `out` end a line as CSV has it.
  if (csv) io.out(`${csv.header}\r`);
  let listed = 0;
  for await (const entry of list.entries) {
    listed += 1;
    if (listed <= limit)
      io.out(
        csv ? `${seen(csv.line(entry))}\r` : options.json ? jsonLine(list.json(entry)) : list.text(entry, io),
      );
    if (!(await io.drained())) return;
  }
  if (options.json || csv) return;
  if (listed === 0) io.out(list.none);
  for (const line of list.end?.() ?? []) io.out(line);
  if (listed > limit) io.out(`Older ones are not shown: --limit ${limit * 10} shows more.`);
}

/** How many entries to read: one more than is shown tells whether there are older ones. */
export const readLimit = (options: ListOptions): number => limitOf(options) + 1;

export async function noticeList(store: Store, options: ListOptions): Promise<List<NoticeStory>> {
  const obstacles = await obstaclesOf(store);
  const since = options.since === undefined ? {} : { since: options.since };
  return {
    entries: pageByPage<NoticeStory>(readLimit(options), (limit, last) =>
      store.notices({ ...since, limit, ...(last && { after: last.notice.id }) }),
    ),
    json: noticeStoryJson,
    text: ({ notice, deliveries }, io) =>
      [
        noticeHead(notice, io),
        `    ${printableInLine(notice.detail)}`,
        `    ${notice.id}`,
        ...deliveries.map((one) => deliveryLine(one, obstacles, io)),
      ].join('\n'),
    none: 'No notices.',
  };
}

export const auditList = (store: Store, options: ListOptions): List<Change> => ({
  entries: pageByPage<Change>(readLimit(options), (limit, last) =>
    store.audit({ limit, ...(last && { after: last.id }) }),
  ),
  json: changeFields,
  text: changeLine,
  none: 'Nobody has changed anything by hand.',
});

export const rejectedList = (store: Store, options: ListOptions): List<KeptRequest> => ({
  entries: pageByPage<KeptRequest>(readLimit(options), (limit, last) =>
    store.rejectedRequests({ limit, ...(last && { after: last.seq }) }),
  ),
  json: ({ receivedAt, seq: _, ...rest }) => ({ receivedAt: new Date(receivedAt).toISOString(), ...rest }),
  text: ({ receivedAt, status, address, correlationId, faults, body }, io) =>
    [
      `${when(receivedAt, io)}  ${status}  from ${printable(address)}  correlation id ${printable(correlationId ?? 'none')}`,
      ...faults.map((fault) => `    ${printable(fault)}`),
      `    body: ${printable(body)}`,
    ].join('\n'),
  none: 'No requests that were not valid events.',
});

/** Read at once, as few are kept. */
export const refusedList = async (store: Store): Promise<List<RefusedEvent>> => ({
  entries: Readable.from(await store.refusedEvents({})),
  json: refusedEventFields,
  text: refusedLine,
  none: 'No refused events are kept.',
});
