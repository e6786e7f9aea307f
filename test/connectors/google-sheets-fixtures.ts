import { onTestFinished } from 'vitest';
import { googleSheets } from '../../connectors/google-sheets/index.ts';
import type { SheetMessage } from '../../connectors/google-sheets/message.ts';
import type { AttemptRequest, DeliveryContext, Sink } from '../../src/connector.ts';
import type { Json, Receipt } from '../../src/model.ts';
import { attemptAt } from '../fixtures/event.ts';
import type { Grid } from '../../sandbox/sheets/grid.ts';
import { startSheets } from '../../sandbox/sheets.ts';
import type { SheetsOptions, SheetsSandbox } from '../../sandbox/sheets.ts';

/** A sandbox with a sink connected to it, for the test that runs. */
export async function connected(
  options: SheetsOptions = {},
  over: { readonly [option: string]: unknown } = {},
) {
  const sandbox = await startSheets(options);
  onTestFinished(() => sandbox.close());
  return { sandbox, sink: await connect(sandbox, over) };
}

export function connect(
  { spreadsheetId, url, credentials }: SheetsSandbox,
  over: { readonly [option: string]: unknown } = {},
): Promise<Sink<SheetMessage>> {
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

export async function written(
  sink: Sink<SheetMessage>,
  request: AttemptRequest<SheetMessage>,
): Promise<Receipt> {
  const outcome = await sink.deliver(request);
  if (outcome.outcome !== 'delivered') throw new Error(JSON.stringify(outcome));
  return outcome.receipt;
}

/** A tab as people left it. `headerRow`: where its header stands, from 1; above it are titles. */
export function given(
  sandbox: SheetsSandbox,
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
export const calls = (sandbox: SheetsSandbox) => sandbox.calls.splice(0).join(' ');

export const update = (Candidate: string | number | boolean, Status: string) =>
  requestFor({ row: { Candidate, Status }, key: 'Candidate' });

export const refuse = (sandbox: SheetsSandbox, call: string, status: number, error: object): void => {
  sandbox.faults.only = [call];
  sandbox.faults.once({ kind: 'status', status, body: { error: { code: status, ...error } } });
};
