import { html, printable, textAt } from '../../src/connector.ts';
import type { Description, Html } from '../../src/connector.ts';
import { isMap, type Json } from '../../src/model.ts';
import { type Cell, deliveryHeader, formatted, kind } from './message.ts';

export const describe: Description<unknown> = {
  starter: {
    sink: 'sheet',
    aliases: ['sheets', 'sheet'],
    options: [
      "spreadsheetId: ${SHEET_ID} # from the sheet's address: docs.google.com/spreadsheets/d/…",
      "# The service account's JSON or its file; adc: what this machine has.",
      'credentials: ${GOOGLE_CREDENTIALS:-adc}',
    ],
    env: { SHEET_ID: '1' },
    tells: 'list',
    action: 'tab: Results',
  },
  unit: 'row',
  preview(message, receipt) {
    const row = Object.entries(isMap(message['row']) ? message['row'] : {});
    const formats = isMap(message['formats']) ? message['formats'] : {};
    // Only the keys of an action still say what their values are to become.
    const kinds = isMap(message['as']) ? message['as'] : {};
    const cellOf = (header: string, value: Json): Html => {
      const { cell, format } = formatted(header, value, kind.safeParse(kinds[header]).data);
      const text = shown(cell, (format ?? formats[header]) === 'date');
      return html`<td ${typeof cell === 'number' && html`class="number"`}>${text}</td>`;
    };
    const [, place = ''] = /!\$?[A-Z]+\$?(\d+)/.exec(textAt(receipt ?? {}, 'range')) ?? [];
    const body = html`<div class="table" tabindex="0">
      <table class="cells">
        <thead>
          <tr>
            <td></td>
            ${row.map(([header]) => html`<th scope="col">${printable(header)}</th>`)}
          </tr>
        </thead>
        <tbody>
          <tr>
            <td>${place}</td>
            ${row.map(([header, value]) => cellOf(header, value))}
          </tr>
        </tbody>
      </table>
    </div>`;
    return { where: `Tab ${textAt(message, 'tab')}`, body };
  },
  link(receipt) {
    const sheet = textAt(receipt, 'spreadsheetId');
    const range = new URLSearchParams({ range: textAt(receipt, 'range') });
    const url = `https://docs.google.com/spreadsheets/d/${encodeURIComponent(sheet)}/edit#${range.toString()}`;
    return sheet === '' ? null : { url, name: 'Open the row' };
  },
  // Whoever erases it needs the id: since it was written, the sheet may have been sorted.
  trace: (receipt, deliveryId) =>
    `the row with ${deliveryId} in its column ${deliveryHeader}, written to ${textAt(receipt, 'range')} in https://docs.google.com/spreadsheets/d/${textAt(receipt, 'spreadsheetId')}`,
};

/** A cell as the sheet shows it, but for times: they are in UTC, and say so, as only the sheet knows its zone. */
function shown(cell: Cell, isDate: boolean): string {
  const [, day, time] =
    (isDate && /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)[.\d]*Z$/.exec(typeof cell === 'string' ? cell : '')) ||
    [];
  if (day !== undefined) return `${day} ${time} UTC`;
  if (typeof cell === 'boolean') return String(cell).toUpperCase();
  return printable(String(cell));
}
