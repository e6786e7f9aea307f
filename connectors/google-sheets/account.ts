import { createPrivateKey } from 'node:crypto';
import { constants, existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { jsonMap, oneLine, Secret, secret, usableUntil } from '../../src/connector.ts';
import type { Token } from '../../src/connector.ts';

type Fetch = typeof globalThis.fetch;

/** Thrown where credentials need a person. The message shows nothing of them. */
export class Unusable extends Error {
  readonly what: string;
  readonly fix: string;

  constructor(what: string, fix: string) {
    super(`The credentials cannot be used: ${what}; ${fix}.`);
    this.what = what;
    this.fix = fix;
  }
}

/** Thrown where an answer has no token. `data`: its body, if that is JSON. */
export class NoToken extends Error {
  readonly data: unknown;

  constructor(data: unknown) {
    super('no token');
    this.data = data;
  }
}

/** Asks for a token: a POST with a body, a GET without one. */
async function askForToken(
  fetch: Fetch,
  url: string,
  body?: string | URLSearchParams,
  headers: { [name: string]: string } = {},
): Promise<Token> {
  const answer = await fetch(url, { ...(body && { method: 'POST', body }), headers });
  const data = jsonMap(await answer.text());
  if (!answer.ok) throw new NoToken(data);
  return tokenIn(data);
}

/** The token in an answer, under the names of OAuth or those of Google's service for impersonation. */
function tokenIn(data: { readonly [key: string]: unknown }): Token {
  const { access_token, accessToken: token = access_token, expires_in, expireTime } = data;
  if (typeof token !== 'string' || !/^[\x21-\x7E]{1,16384}$/.test(token)) throw new NoToken(data);
  const lifeS = typeof expireTime === 'string' ? (Date.parse(expireTime) - Date.now()) / 1000 : expires_in;
  return { token, untilMs: usableUntil(lifeS) };
}

export type Library = typeof import('googleapis/build/src/apis/sheets/index.js');

/** The account that the connector uses at Google. */
export interface Account {
  /** The address to share a spreadsheet with, or words where it is not known. */
  readonly name: string;
  /** Asks for a new token through `fetch`. */
  readonly ask: (library: Library, fetch: Fetch) => Promise<Token>;
}

const inline = z.looseObject({
  client_email: z.string().describe('The address of the service account.'),
  private_key: secret().describe('Its key, in PEM.'),
  token_uri: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe("Where tokens come from; Google's own address by default."),
});

/** A file of credentials, as text or as keys in the YAML, its path, or `adc`. */
export const credentials = z.union([z.literal('adc'), secret(), inline]);
export type Credentials = z.infer<typeof credentials>;

const impersonationUrl = z.string().regex(/^https?:.*\/[^/]+:generateAccessToken$/);

/** Workload identity federation. */
const federation = z.looseObject({
  audience: z.string(),
  subject_token_type: z.string(),
  token_url: z.url({ protocol: /^https?$/ }),
  credential_source: z.looseObject({}),
  service_account_impersonation_url: impersonationUrl.optional(),
  service_account_impersonation: z.looseObject({ token_lifetime_seconds: z.int() }).optional(),
  client_id: z.string().optional(),
  client_secret: z.string().optional(),
  workforce_pool_user_project: z.string().optional(),
});

/** The file that gcloud keeps for a person who signed in. */
const user = z.looseObject({ client_id: z.string(), client_secret: z.string(), refresh_token: z.string() });

const impersonated = z.looseObject({
  service_account_impersonation_url: impersonationUrl,
  source_credentials: z.looseObject({}),
  delegates: z.array(z.string()).optional(),
});

const googleTokenUrl = 'https://oauth2.googleapis.com/token';

/** The scope of cells in spreadsheets that were shared with the account. */
const sheets = ['https://www.googleapis.com/auth/spreadsheets'];
/** The scope for asking for another account's tokens. */
const platform = ['https://www.googleapis.com/auth/cloud-platform'];

const unusable = (what: string): Unusable =>
  new Unusable(
    what,
    'credentials has to be the JSON of a service account, of workload identity federation (external_account) or of an impersonation (impersonated_service_account), the path of a file with it, or adc',
  );

/** Reads and checks the credentials. Rejects with an Unusable. */
export async function readAccount(given: Credentials): Promise<Account> {
  if (given instanceof Secret) return accountOf(await readJson(given.reveal()), sheets);
  if (given !== 'adc') return serviceAccount(given, sheets);
  let account = await defaultAccount();
  // The config does not name their file, so no reload follows a change of it: it is read for each token.
  return {
    get name() {
      return account.name;
    },
    ask: async (library, fetch) => (account = await defaultAccount()).ask(library, fetch),
  };
}

/**
 * The account of the application default credentials. They come from the file that the environment names, else from what
 * gcloud has left on this machine, else of the machine at Google that this runs on.
 */
async function defaultAccount(): Promise<Account> {
  const folder = process.env['CLOUDSDK_CONFIG'] || join(homedir(), '.config', 'gcloud');
  const ofGcloud = join(folder, 'application_default_credentials.json');
  const path = process.env['GOOGLE_APPLICATION_CREDENTIALS'] || (existsSync(ofGcloud) ? ofGcloud : null);
  if (path === null) return machineAccount;
  try {
    return accountOf(await readJson(path), sheets, true);
  } catch (error) {
    // The config does not name the file.
    if (error instanceof Unusable) throw new Unusable(`of ${path}, ${error.what}`, error.fix);
    throw error;
  }
}

/** The account of a file. `mayBePerson`: it may be that of somebody who signed in, and not only a source for impersonation. */
function accountOf(file: unknown, scopes: readonly string[], mayBePerson = scopes === platform): Account {
  const { type = 'service_account' } = Object(file) as { type?: unknown };
  if (type === 'service_account') return serviceAccount(valid(inline, file), scopes);
  if (type === 'external_account') return federated(valid(federation, file), scopes);
  if (type === 'authorized_user' && mayBePerson) return person(valid(user, file));
  if (type === 'impersonated_service_account') return impersonation(valid(impersonated, file), scopes);
  throw unusable(`its type ${oneLine(String(type)).slice(0, 50)} is not supported`);
}

function serviceAccount(
  { client_email: email, private_key, token_uri: url = googleTokenUrl }: z.infer<typeof inline>,
  scopes: readonly string[],
): Account {
  // Line breaks often arrive as the two characters \n when a key went through an environment variable.
  const key = private_key.reveal().replaceAll(String.raw`\n`, '\n');
  if (!isRsaKey(key)) throw unusable('its private_key is no PEM key of RSA');
  const ask: Account['ask'] = async ({ auth }, fetch) => {
    // The library has Google's address built in; files name it.
    const transporterOptions = transporter((_, init) => fetch(url, init));
    const client = new auth.JWT({ email, key, scopes: [...scopes], transporterOptions });
    const { access_token, expiry_date } = await client.authorize();
    return tokenIn({ access_token, expires_in: (Number(expiry_date) - Date.now()) / 1000 });
  };
  return { name: email, ask };
}

/** The library's transporter without retries of its own, which would add to ours. */
const transporter = (fetch: Fetch) => ({ retryConfig: { retry: 0 }, fetchImplementation: fetch });

/** An account by workload identity federation. The library finds the token to exchange; it would exchange it past our proxy and limits. */
function federated(file: z.infer<typeof federation>, scopes: readonly string[]): Account {
  const { service_account_impersonation_url: url, service_account_impersonation: life, ...source } = file;
  if (url !== undefined) {
    const lifetimeS = life?.token_lifetime_seconds;
    return impersonation(
      { service_account_impersonation_url: url, source_credentials: source },
      scopes,
      lifetimeS,
    );
  }
  // Sheets are shared with accounts only.
  if (scopes === sheets) throw unusable('it lacks service_account_impersonation_url');
  const { environment_id: aws, file: path, url: address } = file.credential_source;
  if (aws === undefined && path === undefined && address === undefined)
    throw new Unusable(
      'its credential_source has no file, url or environment_id',
      'the connector runs no executable and shows Google no certificate: let that credential be written to a file',
    );
  const ask: Account['ask'] = async ({ auth }, fetch) => {
    const options = { ...file, transporterOptions: transporter(fetch) } as never;
    const client = aws === undefined ? new auth.IdentityPoolClient(options) : new auth.AwsClient(options);
    const subject = await client.retrieveSubjectToken().catch((error: unknown) => {
      // Its calls fail like all others. A parser's message quotes what it read.
      if (error instanceof Error && 'config' in error) throw error;
      const isParsers = error instanceof SyntaxError || !(error instanceof Error);
      const words = isParsers
        ? 'it is no valid JSON'
        : oneLine(error.message).replace(/\W+$/, '').slice(0, 300);
      throw new Unusable(`the token to exchange cannot be had: ${words}`, 'check credential_source');
    });
    const { client_id: id, client_secret: password = '', workforce_pool_user_project: userProject } = file;
    // RFC 8693.
    const body = new URLSearchParams({
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      requested_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      audience: file.audience,
      scope: scopes.join(' '),
      subject_token_type: file.subject_token_type,
      subject_token: subject,
      ...(id === undefined && userProject !== undefined && { options: JSON.stringify({ userProject }) }),
    });
    const login = Buffer.from(`${id}:${password}`).toString('base64');
    const headers: { [name: string]: string } = id === undefined ? {} : { authorization: `Basic ${login}` };
    return askForToken(fetch, file.token_url, body, headers);
  };
  return { name: 'a federated identity', ask };
}

function person(file: z.infer<typeof user>): Account {
  const { client_id, client_secret, refresh_token } = file;
  const form = { grant_type: 'refresh_token', client_id, client_secret, refresh_token };
  return {
    name: 'the person who signed in with gcloud',
    ask: (_library, fetch) => askForToken(fetch, googleTokenUrl, new URLSearchParams(form)),
  };
}

/** The account of the machine at Google that this runs on. */
const machineAccount: Account = {
  name: 'the account of this machine',
  ask: async (_library, fetch) => {
    const url = new URL(
      `http://${metadataHost()}/computeMetadata/v1/instance/service-accounts/default/token`,
    );
    url.searchParams.set('scopes', sheets.join(','));
    try {
      return await askForToken(fetch, url.href, undefined, { 'metadata-flavor': 'Google' });
    } catch (error) {
      if (error instanceof NoToken) throw error;
      throw new Unusable(
        'there are no application default credentials',
        'set GOOGLE_APPLICATION_CREDENTIALS to the path of a file, or run where Google provides an account',
      );
    }
  },
};

const metadataHost = (): string => process.env['GCE_METADATA_HOST'] || '169.254.169.254';

/** Whether a URL leads to the machine's own metadata service, which no proxy can reach. */
export function isOfTheMachine(url: string): boolean {
  const { host, hostname } = new URL(url);
  return (
    host === metadataHost() ||
    /^169\.254\.|^\[fd00:ec2::254\]$|^metadata\.google\.internal\.?$/.test(hostname)
  );
}

/** An account that another one impersonates. The library's class for this warns on the console, has Google's address built in, and is not exported by googleapis. */
function impersonation(
  file: z.infer<typeof impersonated>,
  scopes: readonly string[],
  lifetimeS = 3600,
): Account {
  const { service_account_impersonation_url: url, source_credentials, delegates = [] } = file;
  const source = accountOf(source_credentials, platform);
  const body = JSON.stringify({ delegates, scope: scopes, lifetime: `${lifetimeS}s` });
  const ask: Account['ask'] = async (library, fetch) => {
    const { token } = await source.ask(library, fetch);
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    return askForToken(fetch, url, body, headers);
  };
  return { name: /([^/]+):generateAccessToken$/.exec(url)?.[1] ?? '', ask };
}

async function readJson(jsonOrPath: string): Promise<unknown> {
  let text = jsonOrPath;
  if (!text.trimStart().startsWith('{')) {
    try {
      // A pipe in its place would keep a thread waiting, and there are four.
      text = await readFile(text, { encoding: 'utf8', flag: constants.O_RDONLY | constants.O_NONBLOCK });
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code ?? 'unreadable';
      throw unusable(`the file that it names cannot be read (${code})`);
    }
  }
  try {
    return JSON.parse(text);
  } catch {
    // The parser's message quotes the text, and with it the key.
    throw unusable('it is no valid JSON');
  }
}

function valid<Schema extends z.ZodType>(schema: Schema, file: unknown): z.infer<Schema> {
  const read = schema.safeParse(file);
  if (read.success) return read.data;
  const names = (isMissing: boolean) =>
    read.error.issues
      .filter(({ code, path }) => path.length > 0 && (code === 'invalid_type') === isMissing)
      .map(({ path }) => path.join('.'));
  const [missing, wrong] = [names(true).join(', '), names(false).join(', ')];
  if (missing !== '') throw unusable(`it lacks ${missing}`);
  throw unusable(wrong === '' ? 'it is no JSON object' : `its ${wrong} is not as expected`);
}

function isRsaKey(pem: string): boolean {
  try {
    return createPrivateKey(pem).asymmetricKeyType === 'rsa';
  } catch {
    return false;
  }
}
