import { html, printable, textAt } from '../../src/connector.ts';
import type { Description } from '../../src/connector.ts';
import { isMap, type Json } from '../../src/model.ts';

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
            ${row.map(([header, cell]) => html`<td ${typeof cell === 'number' && html`class="number"`}>${shown(cell, formats[header] === 'date')}</td>`)}
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
  trace: (receipt) =>
    `${textAt(receipt, 'range')} in https://docs.google.com/spreadsheets/d/${textAt(receipt, 'spreadsheetId')}`,
};

/** As the sheet shows a cell. It has times in its own zone, which only it knows: here they are in UTC, and say so. */
function shown(cell: Json, isDate: boolean): string {
  if (cell === null) return '';
  const [, day, time] =
    (isDate && /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)[.\d]*Z$/.exec(typeof cell === 'string' ? cell : '')) ||
    [];
  if (day !== undefined) return `${day} ${time} UTC`;
  if (typeof cell === 'boolean') return String(cell).toUpperCase();
  return printable(typeof cell === 'string' ? cell : JSON.stringify(cell));
}
