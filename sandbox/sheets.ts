import { generateKeyPairSync } from 'node:crypto';
import { HttpTool } from './http-tool.ts';
import type { ToolAnswer, ToolRequest } from './http-tool.ts';
import { Document } from './sheets/document.ts';
import type { Role } from './sheets/document.ts';
import type { Cell } from './sheets/grid.ts';
import { TokenEndpoint } from './sheets/oauth.ts';
import { quotaExceeded, SheetsRefusal } from './sheets/refusal.ts';
import { routeOf } from './sheets/routes.ts';

export interface SheetsOptions {
  readonly spreadsheetId?: string;
  /** The role of the service account on the spreadsheet. Default: writer. */
  readonly role?: Role;
  /** The quota a minute of reads, and of writes. Default: no limit. */
  readonly perMinute?: number;
  readonly tokenLifetimeS?: number;
}

export type SheetsSandbox = Awaited<ReturnType<typeof startSheets>>;

const email = 'connector@sandbox.iam.gserviceaccount.com';

/**
 * Google Sheets on loopback, with a service account of its own. Calls for faults: `token`, `spreadsheets.get`,
 * `spreadsheets.batchUpdate`, `values.get`, `values.batchGet`, `values.update`, `values.append`, `values.batchUpdate`.
 */
export async function startSheets(options: SheetsOptions = {}) {
  keys ??= newKeys();
  const document = new Document(options.spreadsheetId ?? 'sandbox-spreadsheet', options.role ?? 'writer');
  const tokens = new TokenEndpoint({
    email,
    publicKeyPem: keys.publicKey,
    lifetimeS: options.tokenLifetimeS ?? 3600,
  });
  const quota = new Quota(options.perMinute ?? Infinity);
  const person = new Person();
  const tool = new HttpTool({
    nameOf: (request) => routeOf(request)?.name ?? 'unknown',
    answer: (request) => answer({ document, tokens, quota, person }, request),
    tooMany: quotaExceeded('Write').body,
  });
  await tool.start();
  return {
    /** The sink's `apiUrl`. */
    url: `http://${tool.authority}/`,
    spreadsheetId: document.id,
    /** The service account's JSON, its token_uri here. */
    credentials: JSON.stringify({
      type: 'service_account',
      project_id: 'sandbox',
      private_key_id: 'sandbox-key',
      private_key: keys.privateKey,
      client_email: email,
      token_uri: `http://${tool.authority}/token`,
    }),
    ...tool.controls,
    document,
    /** Somebody who edits the sheet between the calls. */
    person,
    tokens,
    /** The titles of all tabs. */
    tabs: () => document.tabs.map((tab) => tab.title),
    /** All cells of a tab, the header row first; empty where there is no such tab. */
    cells: (tab: string): readonly (readonly Cell[])[] => document.tab(tab)?.rows ?? [],
    /** The rows under a tab's header, as objects. */
    rows: (tab: string): { [header: string]: Cell }[] => {
      const { rows: cells = [], headerRow = 0 } = document.tab(tab) ?? {};
      const [header = [], ...rows] = cells.slice(headerRow);
      return rows.map((row) =>
        Object.fromEntries(header.map((name, index) => [String(name), row[index] ?? ''])),
      );
    },
  };
}

/** One pair serves every sandbox of a process, since making one takes longer than most tests. */
let keys: ReturnType<typeof newKeys> | null = null;

function newKeys() {
  return generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
}

/** Counts calls by the minute. */
class Quota {
  readonly #perMinute: number;
  readonly #spent = new Map<string, number>();

  constructor(perMinute: number) {
    this.#perMinute = perMinute;
  }

  spend(kind: 'Read' | 'Write'): void {
    const window = `${kind} ${Math.floor(Date.now() / 60_000)}`;
    const spent = this.#spent.get(window) ?? 0;
    if (spent >= this.#perMinute) throw quotaExceeded(kind);
    this.#spent.set(window, spent + 1);
  }
}

/** A person who edits between two calls. Each call is carried out at one moment, so there is no other time for edits. */
class Person {
  readonly #edits: { readonly call: string; readonly edit: () => void }[] = [];
  /** Called before each call that reads or writes, after the edits of `before`. */
  meanwhile: (call: string) => void = () => {};

  /** Edits just before the next call of this name, or before the next `a write`. Each edit takes a call of its own. */
  before(call: string, edit: () => void): void {
    this.#edits.push({ call, edit });
  }

  act(call: string, writes: boolean): void {
    const next = this.#edits[0];
    if (next?.call === call || (next?.call === 'a write' && writes)) this.#edits.shift()!.edit();
    this.meanwhile(call);
  }
}

interface Parts {
  readonly person: Person;
  readonly document: Document;
  readonly tokens: TokenEndpoint;
  readonly quota: Quota;
}

function answer({ document, tokens, quota, person }: Parts, request: ToolRequest): ToolAnswer {
  const route = routeOf(request);
  if (route?.name === 'token') return tokens.answer(request.body);
  if (route?.name === 'sts') return tokens.exchange(request.body);
  if (route?.name === 'metadata') {
    return tokens.ofMachine(request.headers['metadata-flavor'], request.url.searchParams.get('scopes'));
  }
  if (route?.name === 'generateAccessToken') {
    return tokens.impersonate(request.headers.authorization, request.body);
  }
  try {
    if (!route) throw new SheetsRefusal(404, 'NOT_FOUND', 'Requested entity was not found.');
    if (!tokens.accepts(request.headers.authorization)) throw unauthenticated();
    quota.spend(route.writes ? 'Write' : 'Read');
    if (route.spreadsheetId !== document.id) {
      throw new SheetsRefusal(404, 'NOT_FOUND', 'Requested entity was not found.');
    }
    document.demandMayRead();
    document.demandNative();
    if (route.writes) document.demandMayWrite();
    person.act(route.name, route.writes);
    return { status: 200, body: route.carryOut(document, request) };
  } catch (error) {
    if (!(error instanceof SheetsRefusal)) throw error;
    return { status: error.code, body: error.body };
  }
}

function unauthenticated(): SheetsRefusal {
  const message = 'Request had invalid authentication credentials. Expected OAuth 2 access token.';
  return new SheetsRefusal(401, 'UNAUTHENTICATED', message, 'ACCESS_TOKEN_EXPIRED');
}
