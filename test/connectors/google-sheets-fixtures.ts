import { afterEach, beforeEach } from 'vitest';
import { googleSheets } from '../../connectors/google-sheets/index.ts';
import type { SheetMessage } from '../../connectors/google-sheets/message.ts';
import type { AttemptRequest, DeliveryContext, Sink } from '../../src/connector.ts';
import type { Json } from '../../src/model.ts';
import type { Outcome, Receipt } from '../../src/model/outcomes.ts';
import { attemptAt } from '../fixtures/event.ts';
import type { Grid } from '../../sandbox/sheets/grid.ts';
import { startSheets } from '../../sandbox/sheets.ts';
import type { SheetsOptions, SheetsSandbox } from '../../sandbox/sheets.ts';

/** The sandbox and the sink of the test that runs. */
export let sandbox: SheetsSandbox;
export let sink: Sink<SheetMessage>;

const open: SheetsSandbox[] = [];

/** Gives each test of a file a sandbox and a sink of its own. */
export function withSheets(): void {
  beforeEach(() => connected());
  afterEach(async () => {
    for (const each of open.splice(0)) await each.close();
  });
}

/** A sandbox of another kind, with a sink connected to it. */
export async function connected(
  options: SheetsOptions = {},
  over: { readonly [option: string]: unknown } = {},
): Promise<void> {
  sandbox = await startSheets(options);
  open.push(sandbox);
  await reconnect(over);
}

/** The sink of the test with other options. */
export async function reconnect(over: { readonly [option: string]: unknown }): Promise<void> {
  sink = await connect(over);
}

/** Another sink of the sandbox. */
export function connect(over: { readonly [option: string]: unknown } = {}): Promise<Sink<SheetMessage>> {
  const { spreadsheetId, url, credentials } = sandbox;
  return googleSheets.connect(
    googleSheets.options.parse({ spreadsheetId, credentials, apiUrl: url, ...over }),
  );
}

interface Fields {
  readonly tab?: string;
  readonly row?: { readonly [header: string]: Json };
  readonly key?: string;
  readonly as?: { readonly [header: string]: 'date' | 'number' | 'link' };
}

export function compose({ tab = 'Results', row = { Candidate: '42' }, key, as }: Fields, deliveryId: string) {
  const fields = { tab, row: row as { [header: string]: string }, ...(key !== undefined && { key }), as };
  const options = googleSheets.options.parse({ spreadsheetId: 'unused', credentials: 'unused' });
  return googleSheets.compose(fields, { deliveryId } as DeliveryContext, options);
}

/** Ids as the connector gives them: the later, the greater. */
const idAfter = (events: number) => `dlv_${String(events).padStart(26, '0')}_1`;

let count = 0;
export function requestFor(
  fields: Fields = {},
  over: Partial<AttemptRequest<SheetMessage>> = {},
): AttemptRequest<SheetMessage> {
  const deliveryId = over.deliveryId ?? idAfter((count += 1));
  return attemptAt(compose(fields, deliveryId), { deliveryId, now: 1_000_000, ...over });
}

/** What proves a row that has to be written. */
export async function written(request: AttemptRequest<SheetMessage>, by = sink): Promise<Receipt> {
  const outcome = await by.deliver(request);
  if (outcome.outcome !== 'delivered') throw new Error(JSON.stringify(outcome));
  return outcome.receipt;
}

/** A tab as people left it. `headerRow`: where its header stands, from 1; above it are titles. */
export function given(
  title: string,
  cells: readonly (readonly (string | number | boolean)[])[],
  headerRow = 1,
): Grid {
  const tab = sandbox.document.addTab(sandbox.document.tabs.length + 1, title, {});
  const titles = Array.from({ length: headerRow - 1 }, (_, row) => [`Title ${row}`]);
  tab.write(0, 0, [...titles, ...cells]);
  tab.headerRow = headerRow - 1;
  return tab;
}

/** What was called since the last time. */
export const calls = () => sandbox.calls.splice(0).join(' ');

export const add = (Candidate: string, Status = 'new') => requestFor({ row: { Candidate, Status } });

/** What a delivery tells of its row; nothing where it has nothing to tell. */
export const noteOf = (outcome: Outcome | undefined): string =>
  outcome?.outcome === 'delivered' ? (outcome.note ?? '') : `not delivered: ${JSON.stringify(outcome)}`;

export const update = (Candidate: string | number | boolean, Status: string) =>
  requestFor({ row: { Candidate, Status }, key: 'Candidate' });

/** Refuses the next such call; with `commit`, after it has taken effect. */
export const refuse = (call: string, status: number, error: object, commit = false): void => {
  sandbox.faults.only = [call];
  sandbox.faults.once({ kind: 'status', status, commit, body: { error: { code: status, ...error } } });
};
