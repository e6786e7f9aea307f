import type { sheets_v4 } from 'googleapis/build/src/apis/sheets/index.js';
import type { Answer, Call, Counted, Failure } from '../../../../connectors/google-sheets/client.ts';
import { deliverRows } from '../../../../connectors/google-sheets/deliver.ts';
import { findRows } from '../../../../connectors/google-sheets/find.ts';
import { googleSheets } from '../../../../connectors/google-sheets/index.ts';
import type { RowRequest } from '../../../../connectors/google-sheets/message.ts';
import type { Spreadsheet } from '../../../../connectors/google-sheets/spreadsheet.ts';
import { Document } from '../../../../sandbox/sheets/document.ts';
import { SheetsRefusal } from '../../../../sandbox/sheets/refusal.ts';
import { routeOf } from '../../../../sandbox/sheets/routes.ts';
import { type AnyConnector, defineConnector } from '../../../../src/connector.ts';
import { among } from '../../foresight-cases.ts';
import { candidate, type Outside, type Played, placeTexts, told, type World } from '../play.ts';

/** An action as the config has it. */
export interface SheetAction {
  readonly tab: string;
  readonly row: { readonly [header: string]: string };
  readonly key?: string;
  readonly digest?: object;
}

const spreadsheetId = 'played';
const address = `http://sheets/v4/spreadsheets/${spreadsheetId}`;

/** The spreadsheet of the sandbox, written to by the connector itself, while somebody edits it. It fails, and loses answers. */
export class PlayedSheets implements Played<SheetAction> {
  readonly name = 'google-sheets';
  readonly options = { spreadsheetId, credentials: 'adc' };
  readonly document = new Document(spreadsheetId, 'writer');
  faults = 0;
  readonly #world: World;
  /** As if each attempt was the first one: nobody looks whether a row is there. */
  readonly #forgetful: boolean;

  constructor(world: World, forgetful = false) {
    this.#world = world;
    this.#forgetful = forgetful;
  }

  action(random: () => number): SheetAction {
    const tab = among(random, placeTexts);
    const roll = random();
    const digest = { every: '5m' };
    if (roll < 0.2) return { tab, row: { Who: `{% for event in events %}${told}{% endfor %}` }, digest };
    if (roll < 0.6) return { tab, row: { Who: candidate, Last: '{{ event.id }}' }, key: 'Who' };
    return { tab, row: { Who: told, Event: '{{ event.id }}' } };
  }

  connector(outside: Outside): AnyConnector {
    const connect = async () => {
      const sheet: Spreadsheet = {
        spreadsheetId,
        account: 'played@example.com',
        headerRow: 0,
        call: (kind, run, signal) => outside(() => this.#call(kind, run, signal)),
        tabs: new Map(),
        written: new Map(),
        madeAnew: new Map(),
        timeZone: 'UTC',
        describedAt: -Infinity,
      };
      const seen = (requests: readonly RowRequest[]) =>
        this.#forgetful ? requests.map((request) => ({ ...request, attempt: 1 })) : requests;
      const deliverMany = (requests: readonly RowRequest[]) => deliverRows(sheet, seen(requests));
      const findMany = async (requests: readonly RowRequest[]) =>
        this.#forgetful ? requests.map(() => ({ found: null })) : findRows(sheet, requests);
      return {
        deliver: async (request: RowRequest) => (await deliverMany([request]))[0]!,
        deliverMany,
        find: async (request: RowRequest) => (await findMany([request]))[0]!,
        findMany,
        check: async () => [],
        close: async () => {},
      };
    };
    return defineConnector({ ...googleSheets, fault: async () => null, connect });
  }

  async #call<Data>(kind: Counted, run: Parameters<Call>[1], signal: AbortSignal): Promise<Answer<Data>> {
    const failed = (failure: Failure) => ({ ok: false, failure }) as const;
    const unnamed = { status: '', message: '', reason: '' };
    if (signal.aborted) return failed({ kind: 'stopped', sent: false });
    const fate = this.#fate();
    this.#world.note(`a ${kind}: ${fate}`);
    await this.#pause();
    if (fate === 'limited') {
      const retryAfterMs = Math.floor(this.#world.random() * 120_000);
      return failed({ kind: 'http', status: 429, retryAfterMs, error: unnamed });
    }
    if (fate === 'lost before') return failed({ kind: 'network', sent: true, words: 'ECONNRESET' });
    try {
      // Each call is carried out at one moment.
      const { data } = await run(this.#api as sheets_v4.Resource$Spreadsheets, {});
      await this.#pause();
      if (fate === 'lost') return failed({ kind: 'http', status: 503, retryAfterMs: null, error: unnamed });
      return { ok: true, data: data as Data };
    } catch (error) {
      if (!(error instanceof SheetsRefusal)) throw error;
      const { code, status, message } = error;
      this.#world.note(`refused: ${message}`);
      return failed({
        kind: 'http',
        status: code,
        retryAfterMs: null,
        error: { status, message, reason: '' },
      });
    }
  }

  /** What the connector calls of Google's client. */
  readonly #api = {
    get: async ({ fields }: { fields: string }) => this.#answer('GET', '', { fields }),
    batchUpdate: async ({ requestBody }: { requestBody: object }) =>
      this.#answer('POST', ':batchUpdate', {}, requestBody),
    values: {
      batchGet: async ({ ranges, valueRenderOption }: { ranges: string[]; valueRenderOption: string }) =>
        this.#answer('GET', '/values:batchGet', { ranges, valueRenderOption }),
    },
  } as unknown;

  #answer(method: string, path: string, query: Record<string, string | string[]>, content?: object) {
    const url = new URL(address + path);
    for (const [name, value] of Object.entries(query))
      for (const each of [value].flat()) url.searchParams.append(name, each);
    const body = content === undefined ? '' : JSON.stringify(content);
    const request = { method, url, headers: {}, body, bytes: Buffer.from(body) };
    return { data: routeOf(request)!.carryOut(this.document, request) };
  }

  #fate(): 'done' | 'limited' | 'lost before' | 'lost' {
    const roll = this.#world.random() / this.faults;
    if (!(roll < 1)) return 'done';
    if (roll < 0.5) return 'lost';
    return roll < 0.7 ? 'lost before' : 'limited';
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => this.#world.clock.after(1 + this.#world.random() * 300, resolve));
  }
}
