import { expect } from 'vitest';
import { googleSheets } from '../../connectors/google-sheets/index.ts';
import { connectorContract } from '../contract/connector.ts';
import { startSheets } from '../../sandbox/sheets.ts';

connectorContract('google-sheets', async () => {
  const sandbox = await startSheets();
  const { private_key } = JSON.parse(sandbox.credentials) as { private_key: string };
  return {
    connector: googleSheets,
    sandbox,
    options: (authority) => ({
      spreadsheetId: sandbox.spreadsheetId,
      credentials: sandbox.credentials,
      apiUrl: authority ? `https://${authority}/` : sandbox.url,
    }),
    secrets: [...private_key.split('\n').filter((line) => line.length > 60), 'ya29.'],
    fields: { tab: 'Results', row: { Candidate: '42', Status: 'Completed' } },
    place: ['row', 'Candidate'],
    calls: ['token', 'spreadsheets.get', 'values.batchGet', 'spreadsheets.batchUpdate'],
    meanings: {
      // Not from Google, as its body shows.
      400: { outcome: 'retry', reason: 'invalid' },
      401: { outcome: 'retry', reason: 'auth' },
      403: { outcome: 'retry', reason: 'auth' },
      404: { outcome: 'retry', reason: 'not_found' },
      429: { outcome: 'retry', reason: 'rate_limited' },
      500: { outcome: 'unknown', reason: 'server' },
      503: { outcome: 'unknown', reason: 'server' },
    },
    trace:
      /^the row with [\w-]+ in its column Delivery, written to '?[^']+'?![A-Z]+\d+:[A-Z]+\d+ in https:\/\/docs\.google\.com\/spreadsheets\/d\/[\w-]+$/,
    link: expect.stringMatching(
      /^https:\/\/docs\.google\.com\/spreadsheets\/d\/[\w-]+\/edit#range=.*%21A\d+/,
    ),
    statesDelay: true,
    finds: true,
    proxied: true,
    received: async () => sandbox.rows('Results').map((row) => String(row['Delivery'])),
    shown: async (id) => sandbox.rows('Results').find((row) => row['Delivery'] === id)!['Candidate'],
  };
});
