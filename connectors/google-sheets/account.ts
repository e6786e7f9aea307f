import { createPrivateKey } from 'node:crypto';
import { constants } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { Secret, secret } from '../../src/connector.ts';

export type Library = typeof import('googleapis/build/src/apis/sheets/index.js');

/** Who the connector is to Google. */
export interface Account {
  /** The address that a spreadsheet is shared with, as far as it is known. */
  readonly name: string;
  /** Fetches tokens through `fetch`, and keeps them until shortly before they expire. */
  readonly signer: (library: Library, fetch: Fetch) => Signer;
}

type Fetch = typeof globalThis.fetch;

export interface Signer {
  getAccessToken(): Promise<{ readonly token?: string | null }>;
}

const inline = z.looseObject({
  client_email: z.string().describe('The address of the service account.'),
  private_key: secret().describe('Its key, in PEM.'),
  token_uri: z.url().optional().describe("Where tokens come from; Google's own address by default."),
});

/** A file of credentials, as text or as keys in the YAML, its path, or `adc`. */
export const credentials = z.union([z.literal('adc'), secret(), inline]);
export type Credentials = z.infer<typeof credentials>;

const impersonationUrl = z.string().regex(/^https?:.*\/[^/]+:generateAccessToken$/);

/** Workload identity federation. */
const federation = z.looseObject({
  audience: z.string(),
  subject_token_type: z.string(),
  token_url: z.url(),
  credential_source: z.looseObject({}),
  service_account_impersonation_url: impersonationUrl.optional(),
});

/** Sheets are shared with accounts only, so there has to be one. */
const external = federation.required({ service_account_impersonation_url: true });

/** What gcloud keeps of a person who signed in; only as the source of an impersonation. */
const user = z.looseObject({ client_id: z.string(), client_secret: z.string(), refresh_token: z.string() });

const impersonated = z.looseObject({
  service_account_impersonation_url: impersonationUrl,
  source_credentials: z.looseObject({}),
  delegates: z.array(z.string()).optional(),
});

const googleTokenUrl = 'https://oauth2.googleapis.com/token';
const advice =
  'credentials has to be the JSON of a service account, of workload identity federation (external_account) or of an impersonation (impersonated_service_account), the path of a file with it, or adc';

/** Nothing but the cells of spreadsheets that were shared with the account. */
const sheets = ['https://www.googleapis.com/auth/spreadsheets'];
/** What asking for another account's tokens needs. */
const platform = ['https://www.googleapis.com/auth/cloud-platform'];

/** Reads and checks the credentials. Rejects with a message that says what to fix and shows nothing of them. */
export async function readAccount(given: Credentials): Promise<Account> {
  if (given instanceof Secret) return accountOf(json(await jsonText(given.reveal())), sheets);
  if (given !== 'adc') return serviceAccount(given, sheets);
  const path = process.env['GOOGLE_APPLICATION_CREDENTIALS'];
  return path ? accountOf(json(await jsonText(path)), sheets) : defaultAccount();
}

function accountOf(file: unknown, scopes: readonly string[]): Account {
  const { type = 'service_account' } = (file ?? {}) as { type?: unknown };
  if (type === 'service_account') return serviceAccount(valid(inline, file), scopes);
  if (type === 'external_account')
    return libraryAccount(valid(scopes === platform ? federation : external, file), scopes);
  if (type === 'authorized_user' && scopes === platform) return libraryAccount(valid(user, file), scopes);
  if (type === 'impersonated_service_account') return impersonation(valid(impersonated, file), scopes);
  throw new Unusable(`its type ${String(type).slice(0, 50)} is not supported`);
}

function serviceAccount(
  { client_email: email, private_key, token_uri = googleTokenUrl }: z.infer<typeof inline>,
  scopes: readonly string[],
): Account {
  const key = usableKey(private_key);
  // The client has Google's address of the endpoint built in and asks nothing else through this.
  const signer: Account['signer'] = (library, fetch) =>
    new library.auth.JWT({
      email,
      key: key.reveal(),
      scopes: [...scopes],
      transporterOptions: transporter((_url, init) => fetch(token_uri, init)),
    });
  return { name: email, signer };
}

/** Retries of its own would add to ours. */
const transporter = (fetch: Fetch) => ({ retryConfig: { retry: 0 }, fetchImplementation: fetch });

function libraryAccount(file: z.infer<typeof federation | typeof user>, scopes: readonly string[]): Account {
  return {
    name: principalOf(String(file['service_account_impersonation_url'])),
    signer: (library, fetch) => {
      const auth = newAuth(library, fetch, scopes);
      // The option for it prints a warning about files from strangers; this one is the operator's own.
      auth.jsonContent = file as unknown as NonNullable<typeof auth.jsonContent>;
      return { getAccessToken: async () => (await auth.getClient()).getAccessToken() };
    },
  };
}

function newAuth(library: Library, fetch: Fetch, scopes: readonly string[]) {
  const clientOptions = { transporterOptions: transporter(fetch) };
  return new library.auth.GoogleAuth({ scopes: [...scopes], clientOptions });
}

/** What gcloud has left on this machine, or the account of the machine at Google that this runs on. */
function defaultAccount(): Account {
  return {
    name: 'the account of the application default credentials',
    signer: (library, fetch) => {
      const auth = newAuth(library, fetch, sheets);
      return { getAccessToken: async () => (await defaultClient(auth)).getAccessToken() };
    },
  };
}

async function defaultClient(auth: ReturnType<typeof newAuth>) {
  try {
    return await auth.getClient();
  } catch {
    throw new Unusable(
      'there are no application default credentials: set GOOGLE_APPLICATION_CREDENTIALS, or run where Google provides an account',
    );
  }
}

const principalOf = (url: string): string => /([^/]+):generateAccessToken$/.exec(url)?.[1] ?? 'a person';

/** A token is replaced so long before it expires. */
const earlyMs = 5 * 60_000;

/** The library has Google's address for this built in; files name it. */
function impersonation(file: z.infer<typeof impersonated>, scopes: readonly string[]): Account {
  const { service_account_impersonation_url: url, source_credentials, delegates = [] } = file;
  const source = accountOf(source_credentials, platform);
  const body = JSON.stringify({ delegates, scope: scopes, lifetime: '3600s' });
  const signer: Account['signer'] = (library, fetch) => {
    const sourceSigner = source.signer(library, fetch);
    let kept: { readonly token: string; readonly until: number } | null = null;
    return {
      getAccessToken: async () => {
        if (kept && Date.now() < kept.until) return kept;
        const { token } = await sourceSigner.getAccessToken();
        const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
        const answer = await fetch(url, { method: 'POST', headers, body });
        const data = (await answer.json()) as { accessToken?: string; expireTime?: string };
        if (!answer.ok || !data.accessToken)
          throw Object.assign(new Error('refused'), {
            response: { ok: false, status: answer.status, headers: answer.headers, data },
          });
        kept = { token: data.accessToken, until: Date.parse(data.expireTime ?? '') - earlyMs };
        return kept;
      },
    };
  };
  return { name: principalOf(url), signer };
}

async function jsonText(jsonOrPath: string): Promise<string> {
  if (jsonOrPath.trimStart().startsWith('{')) return jsonOrPath;
  try {
    // A pipe in its place would keep a thread waiting, and there are four.
    return await readFile(jsonOrPath, { encoding: 'utf8', flag: constants.O_RDONLY | constants.O_NONBLOCK });
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unreadable';
    throw new Unusable(`the file that it names cannot be read (${code})`);
  }
}

function json(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The parser's message quotes the text, and with it the key.
    throw new Unusable('it is no valid JSON');
  }
}

function valid<Schema extends z.ZodType>(schema: Schema, file: unknown): z.infer<Schema> {
  const read = schema.safeParse(file);
  if (read.success) return read.data;
  const missing = read.error.issues.map((issue) => issue.path.join('.')).filter(Boolean);
  throw new Unusable(missing.length > 0 ? `it lacks ${missing.join(', ')}` : 'it is no JSON object');
}

function usableKey(key: Secret): Secret {
  // Line breaks often arrive as the two characters \n when a key went through an environment variable.
  const pem = key.reveal().replaceAll(String.raw`\n`, '\n');
  try {
    createPrivateKey(pem);
  } catch {
    throw new Unusable('its private_key is no PEM key');
  }
  return new Secret(pem);
}

/** Credentials that need a person. Its message shows nothing of them. */
export class Unusable extends Error {
  constructor(what: string) {
    super(`The credentials cannot be used: ${what}; ${advice}.`);
  }
}
