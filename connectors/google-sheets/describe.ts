import { html, printable, textAt } from '../../src/connector.ts';
import type { Description } from '../../src/connector.ts';
import { isMap } from '../../src/model.ts';

export const describe: Description<unknown> = {
  starter: {
    sink: 'sheet',
    aliases: ['sheets', 'sheet'],
    options: [
      "spreadsheetId: ${SHEET_ID} # from the sheet's address: docs.google.com/spreadsheets/d/…",
      "credentials: ${GOOGLE_CREDENTIALS:-adc} # the service account's JSON or its file; adc: those of this machine",
    ],
    env: { SHEET_ID: '1' },
    tells: 'list',
    action: 'tab: Results',
  },
  unit: 'row',
  preview(message) {
    const row = Object.entries(isMap(message['row']) ? message['row'] : {});
    const body = html`<div class="table" tabindex="0">
      <table>
        <thead>
          <tr>
            ${row.map(([header]) => html`<th scope="col">${printable(header)}</th>`)}
          </tr>
        </thead>
        <tbody>
          <tr>
            ${row.map(([, cell]) => html`<td>${printable(typeof cell === 'string' ? cell : JSON.stringify(cell))}</td>`)}
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
