import type { AttemptRequest, Finding } from '../../src/connector.ts';
import type { Headers } from './headers.ts';
import { deliveryHeader } from './message.ts';
import type { SheetMessage } from './message.ts';
import { askedInVain } from './outcomes.ts';
import { findInColumn } from './spreadsheet.ts';
import type { Spreadsheet } from './spreadsheet.ts';
import { receiptOf } from './write.ts';

/** Looks for the delivery's id in the tab's Delivery column. */
export async function findRow(
  sheet: Spreadsheet,
  headers: Headers,
  { deliveryId, message: { tab }, now, signal }: AttemptRequest<SheetMessage>,
): Promise<Finding> {
  const header = await headers.read(tab, now, signal);
  if (!header.ok) return { found: 'failed', failure: askedInVain(header.failure, sheet) };
  const column = header.data?.indexOf(deliveryHeader) ?? -1;
  if (header.data === null || column === -1) return { found: null };
  const row = await findInColumn(sheet, tab, column, deliveryId, signal);
  if (!row.ok) return { found: 'failed', failure: askedInVain(row.failure, sheet) };
  return { found: row.data === null ? null : receiptOf(sheet, tab, header.data, row.data) };
}
