import { rejected } from '../../src/connector.ts';
import type { Composed, DeliveryContext } from '../../src/connector.ts';
import type { Json } from '../../src/model.ts';

/** The column that keeps which delivery wrote a row. */
export const deliveryHeader = 'Delivery';

export type Cell = string | number | boolean;

/** One row to write. `row`: header to value, the delivery id included. */
export type SheetMessage = {
  readonly tab: string;
  readonly row: { readonly [header: string]: Cell };
  /** The header whose value tells which row to update; without it a row is added. */
  readonly key?: string;
};

/** An action's keys, rendered. */
export interface SheetFields {
  readonly tab: string;
  readonly row: { readonly [header: string]: Json };
  readonly key?: string | undefined;
}

const maxCellLength = 50_000;
const maxTabLength = 100;
const notice = ' … (shortened)';

/** Pure: the row that will be written. What does not fit into a cell is shortened with a notice in its place. */
export function compose(
  { tab, row, key: keyHeader }: SheetFields,
  { deliveryId }: DeliveryContext,
): Composed<SheetMessage> {
  const title = tab.toWellFormed().replace(/\s+/g, ' ').trim();
  if (title === '')
    return refuse('The tab of this row is empty.', 'Give the action a tab for this case too, then replay.');
  if (title.length > maxTabLength) {
    return refuse(
      `The name of the tab is longer than ${maxTabLength} characters.`,
      'Shorten it, then replay.',
    );
  }
  const key = keyHeader?.trim();
  const cells = Object.entries(row).map(([header, value]) => [header.trim(), cellOf(value)] as const);
  const fitted = Object.fromEntries(cells.map(([header, cell]) => [header, fit(cell)]));
  if (key !== undefined && (!Object.hasOwn(fitted, key) || fitted[key] === '')) {
    return refuse(
      `The row has no value for its key ${key}.`,
      'Give the key a value in this case too, then replay.',
    );
  }
  const message = {
    tab: title,
    row: { ...fitted, [deliveryHeader]: deliveryId },
    ...(key !== undefined && { key }),
  };
  const shortened = cells.some(([header, cell]) => fitted[header] !== cell);
  return shortened ? { message, note: 'A value was too long for a cell and was shortened.' } : { message };
}

function refuse(detail: string, advice: string) {
  return { rejected: rejected('invalid', detail, advice) };
}

/** Absent values leave the cell empty; lists and objects become their JSON. */
function cellOf(value: Json): Cell {
  if (value === null || value === undefined) return '';
  if (typeof value === 'object') return JSON.stringify(value);
  return typeof value === 'string' ? value.toWellFormed() : value;
}

function fit(cell: Cell): Cell {
  if (typeof cell !== 'string' || cell.length <= maxCellLength) return cell;
  // Half of a surrogate pair, where the cut falls into one, cannot be sent.
  return cell.slice(0, maxCellLength - notice.length).replace(/[\uD800-\uDBFF]$/, '') + notice;
}
