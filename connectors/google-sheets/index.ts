import { z } from 'zod';
import { defineConnector, openProxy, plain, proxyOption, putLast } from '../../src/connector.ts';
import type { Place, Sink } from '../../src/connector.ts';
import { checkSheet } from './check.ts';
import { credentials, readAccount } from './account.ts';
import { sheetsApi } from './client.ts';
import { defaultFields } from './default-row.ts';
import { deliverRows } from './deliver.ts';
import { describe } from './describe.ts';
import { findRows } from './find.ts';
import { compose, deliveryHeader, kind, titleOf } from './message.ts';
import type { SheetMessage } from './message.ts';
import type { Spreadsheet } from './spreadsheet.ts';

const options = z.object({
  spreadsheetId: z
    .string()
    .regex(/^[\w-]+$/, { error: 'expected the id of a spreadsheet, the part of its address after /d/' })
    .describe("The part of the spreadsheet's address after /d/."),
  credentials: credentials.describe(
    'The JSON of a service account, of workload identity federation or of an impersonation, or the path of a file with it; `adc` for the application default credentials.',
  ),
  headerRow: z
    .int()
    .min(1)
    .max(100)
    .default(1)
    .describe('The row of the header in each tab, from 1: another one where a title stands above it.'),
  apiUrl: z
    .url({ protocol: /^https?$/ })
    .refine((url) => (URL.parse(url)?.pathname ?? '/') === '/', {
      error: 'expected the root of the API, without a path',
    })
    .default('https://sheets.googleapis.com/')
    .describe('The root of the API; for a proxy or a test.'),
  proxy: proxyOption(),
});

const header = z
  .string()
  .regex(/\S/, { error: 'expected the name of a column' })
  .refine((name) => name.trim() !== deliveryHeader, {
    error: `${deliveryHeader} is the column in which the connector keeps its delivery id`,
  });

const action = z
  .object({
    tab: z.string().min(1).describe('The tab to write to; it is made if it is missing.'),
    row: z
      .record(header, z.union([z.string(), z.number(), z.boolean()]))
      .refine((row) => Object.keys(row).length > 0, { error: 'expected at least one column' })
      .describe('The value of each column by its header; a missing header is added.'),
    key: z
      .string()
      .optional()
      .describe(
        'A header of the row: where a row has the same value there, it is updated and none is added.',
      ),
    as: z
      .record(z.string(), kind)
      .optional()
      .describe(
        'What values become, by headers of the row: an ISO time a `date`, text of digits a `number`, a URL, `text <url>` or `[text](url)` a `link`.',
      ),
  })
  .refine(({ row, key }) => key === undefined || key in row, {
    path: ['key'],
    error: 'expected one of the headers of row',
  })
  .superRefine(({ row, key, as = {} }, context) => {
    for (const name of Object.keys(as)) {
      const isDatedKey = name === key && as[name] === 'date';
      if (Object.hasOwn(row, name) && !isDatedKey) continue;
      // A row would not be found by it any more once somebody sets another time zone.
      const message = isDatedKey
        ? 'expected no date, as it is the key'
        : 'expected one of the headers of row';
      context.addIssue({ code: 'custom', path: ['as', name], message });
    }
  });

/** The place of rows for a tab; none if its name is empty. Google takes names that differ in capitals for the same tab. */
const placesOf = (tab: string): Place[] => {
  const id = titleOf(tab).toLowerCase();
  return id === '' ? [] : [{ id }];
};

type Memory = Pick<Spreadsheet, 'written' | 'madeAnew'>;

const mostMemories = 100;
/**
 * What was written, by spreadsheet, for those that were connected last. A reload connects anew, and has to tell all the same
 * of tabs and columns that somebody renamed or deleted around it.
 */
const memories = new Map<string, Memory>();

function memoryOf(key: string): Memory {
  const known: Memory = memories.get(key) ?? { written: new Map(), madeAnew: new Map() };
  return putLast(memories, key, known, mostMemories);
}

/** Writes rows to one spreadsheet. Values are never interpreted: one that begins with = stays text. */
export const googleSheets = defineConnector({
  name: 'google-sheets',
  describe,
  options,
  action,
  templates: { tab: plain, row: { ...plain, data: true } },
  batch: { max: 500 },
  // Rows stand in the order in which they came, and a header is made once. Google allows an account 60 reads and 60 writes
  // in a minute. An attempt takes several at once, which count once it has ended: so there has to be room for one more.
  defaults: { concurrency: 1, timeoutMs: 30_000, pace: { count: 50, perMs: 60_000, burst: 1 } },
  defaultFields,
  placeKeys: ['tab'],
  alike: (tab) => tab.toLowerCase(),
  sharedBy: ({ key }) => (key === undefined ? [] : [['row', key]]),
  // With a key, the second rule updates the row of the first.
  audience: {
    keys: ['tab'],
    of({ tab, key }) {
      const places = placesOf(tab);
      return { place: tab, members: key === undefined ? places.map(({ id }) => id) : [], places };
    },
    named: { key: 'tab', read: (tab) => placesOf(tab)[0] ?? { fault: 'expected the name of a tab' } },
  },
  compose: (fields, context) => compose(fields, context),
  fault: async (given) => {
    try {
      await readAccount(given.credentials);
      return null;
    } catch (error) {
      return { option: 'credentials', message: (error as Error).message };
    }
  },
  connect: async (given): Promise<Sink<SheetMessage>> => {
    const { spreadsheetId, headerRow, apiUrl } = given;
    const account = await readAccount(given.credentials);
    const proxy = await openProxy(apiUrl, given.proxy);
    const closing = new AbortController();
    const library = await import('googleapis/build/src/apis/sheets/index.js');
    const counts = { read: 0, write: 0 };
    const call = sheetsApi(library, account, { apiUrl, proxy }, closing.signal, counts);
    const sheet: Spreadsheet = {
      spreadsheetId,
      get account() {
        return account.name;
      },
      headerRow: headerRow - 1,
      call,
      tabs: new Map(),
      timeZone: 'UTC',
      describedAt: -Infinity,
      ...memoryOf(JSON.stringify([apiUrl, spreadsheetId, headerRow])),
    };
    return {
      deliver: async (request) => (await deliverRows(sheet, [request]))[0]!,
      deliverMany: (requests) => deliverRows(sheet, requests),
      find: async (request) => (await findRows(sheet, [request]))[0]!,
      findMany: (requests) => findRows(sheet, requests),
      usage: () => {
        // Each has a limit of its own, and most calls are reads.
        const calls = Math.max(counts.read, counts.write);
        Object.assign(counts, { read: 0, write: 0 });
        return { account: account.name, calls };
      },
      check: (messages, signal) => checkSheet(sheet, messages, signal),
      close: async () => {
        closing.abort();
        await proxy?.dispatcher.destroy();
      },
    };
  },
});
