import { createPrivateKey } from 'node:crypto';
import { constants } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { MethodOptions, sheets_v4 } from 'googleapis/build/src/apis/sheets/index.js';
import { z } from 'zod';
import { fetchFailure, httpFailure, Secret, secret, WatchedFetch } from '../../src/connector.ts';
import type { CallFailure, CallResult, HttpFailure } from '../../src/connector.ts';

type Library = typeof import('googleapis/build/src/apis/sheets/index.js');

/** Why a call of the Sheets API gave no result. */
export type Failure =
  | CallFailure
  | (HttpFailure & { readonly error: ApiError })
  /** The header of this tab is not where it should be, so that nothing is written. */
  | { readonly kind: 'header'; readonly tab: string; readonly words: string }
  /** No access token, so that nothing of the call has left. */
  | {
      readonly kind: 'token';
      readonly status: number;
      /** OAuth's code, such as invalid_grant, with its description; empty where something else answered. */
      readonly words: string;
      readonly retryAfterMs: number | null;
    };

/** The parts of Google's error body that tell causes apart. */
export interface ApiError {
  /** As in google.rpc.Code: PERMISSION_DENIED, say. Empty where something else answered. */
  readonly status: string;
  readonly message: string;
  /** From the ErrorInfo in the details: RATE_LIMIT_EXCEEDED, SERVICE_DISABLED. */
  readonly reason: string;
}

export type Answer<Data> = CallResult<Data, Failure>;

/** About a million cells. */
const maxAnswerBytes = 50 * 1024 * 1024;

type Api = sheets_v4.Resource$Spreadsheets;

/** One call, never repeated: `run` gets the api and the options to hand on to it. */
export type Call = <Data>(
  run: (api: Api, options: MethodOptions) => Promise<{ readonly data: Data }>,
  signal: AbortSignal,
) => Promise<Answer<Data>>;

/** Calls through Google's client. A token is fetched before and apart, so that its failure is known to have sent nothing. `closed` ends such a fetch when no attempt waits for it any more. */
export function sheetsApi(
  library: Library,
  account: ServiceAccount,
  apiUrl: string,
  closed: AbortSignal,
): Call {
  const api = library.sheets({ version: 'v4', rootUrl: apiUrl }).spreadsheets;
  const tokens = new Tokens(library, account, closed);
  return async (run, signal) => {
    if (signal.aborted) return failed({ kind: 'stopped', sent: false });
    const token = await tokens.get(signal);
    if (typeof token !== 'string') return failed(token);
    const watched = new WatchedFetch(maxAnswerBytes, signal);
    try {
      const { data } = await run(api, callOptions(token, watched));
      return typeof data === 'object' ? { ok: true, data } : failed({ kind: 'foreign' });
    } catch (error) {
      if (watched.answered?.status === 401) tokens.forget();
      if (!watched.began) throw error;
      return failed(failureOf(error, watched));
    }
  };
}

const failed = (failure: Failure) => ({ ok: false, failure }) as const;

function callOptions(token: string, watched: WatchedFetch): MethodOptions {
  return {
    headers: { authorization: `Bearer ${token}` },
    retry: false,
    fetchImplementation: watched.fetch,
  };
}

function failureOf(error: unknown, watched: WatchedFetch): Failure {
  const { answered } = watched;
  return answered === null || answered.ok
    ? watched.failureOf(error)
    : { ...httpFailure(answered), error: apiError(error) };
}

interface ErrorBody {
  readonly status?: unknown;
  readonly message?: unknown;
  readonly details?: readonly { readonly reason?: unknown }[];
}

function apiError(error: unknown): ApiError {
  const { response } = error as { response?: { data?: { error?: ErrorBody } } };
  const body = response?.data?.error;
  const reasons = Array.isArray(body?.details) ? body.details.map(({ reason }) => reason) : [];
  return {
    status: textOf(body?.status),
    message: textOf(body?.message),
    reason: textOf(reasons.find((reason) => typeof reason === 'string')),
  };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** What a service account's JSON has that signing in needs. */
export interface ServiceAccount {
  readonly email: string;
  readonly key: Secret;
  /** Where tokens come from. Google's own address unless the JSON names another one. */
  readonly tokenUrl: string;
}

const inline = z.looseObject({
  client_email: z.string().describe('The address of the service account.'),
  private_key: secret().describe('Its key, in PEM.'),
  token_uri: z.url().optional().describe("Where tokens come from; Google's own address by default."),
});

/** The service account's JSON, as text or as keys in the YAML, or the path of a file with it. */
export const credentials = z.union([secret(), inline]);
export type Credentials = z.infer<typeof credentials>;

const googleTokenUrl = 'https://oauth2.googleapis.com/token';
const advice = 'credentials has to be the JSON of a service account, or the path of a file with it';

/** Reads and checks the credentials. Rejects with a message that says what to fix and shows nothing of them. */
export async function readAccount(given: Credentials): Promise<ServiceAccount> {
  const { client_email, private_key, token_uri } =
    given instanceof Secret ? parse(await jsonText(given.reveal())) : given;
  return { email: client_email, key: usableKey(private_key), tokenUrl: token_uri ?? googleTokenUrl };
}

async function jsonText(jsonOrPath: string): Promise<string> {
  if (jsonOrPath.trimStart().startsWith('{')) return jsonOrPath;
  try {
    // A pipe in its place would keep a thread waiting, and there are four.
    return await readFile(jsonOrPath, { encoding: 'utf8', flag: constants.O_RDONLY | constants.O_NONBLOCK });
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unreadable';
    throw unusable(`the file that it names cannot be read (${code})`);
  }
}

function parse(text: string): z.infer<typeof inline> {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    // The parser's message quotes the text, and with it the key.
    throw unusable('it is no valid JSON');
  }
  const account = inline.safeParse(json);
  if (account.success) return account.data;
  const missing = account.error.issues.map((issue) => issue.path.join('.')).filter(Boolean);
  throw unusable(missing.length > 0 ? `it lacks ${missing.join(', ')}` : 'it is no JSON object');
}

function usableKey(key: Secret): Secret {
  // Line breaks often arrive as the two characters \n when a key went through an environment variable.
  const pem = key.reveal().replaceAll(String.raw`\n`, '\n');
  try {
    createPrivateKey(pem);
  } catch {
    throw unusable('its private_key is no PEM key');
  }
  return new Secret(pem);
}

function unusable(what: string): Error {
  return new Error(`The credentials cannot be used: ${what}; ${advice}.`);
}

type Signer = InstanceType<Library['auth']['JWT']>;

/** Nothing but the cells of spreadsheets that were shared with the account. */
const scopes = ['https://www.googleapis.com/auth/spreadsheets'];
/** Attempts share a token, so one attempt's end must not end its fetch; this does. */
const fetchTimeoutMs = 10_000;
const maxTokenBytes = 64 * 1024;

/** Access tokens of a service account, kept until shortly before they expire. */
class Tokens {
  readonly #library: Library;
  readonly #account: ServiceAccount;
  readonly #closed: AbortSignal;
  #signer: Signer;
  #watched: WatchedFetch | null = null;

  constructor(library: Library, account: ServiceAccount, closed: AbortSignal) {
    this.#library = library;
    this.#account = account;
    this.#closed = closed;
    this.#signer = this.#newSigner();
  }

  /** A token, or why there is none; nothing of the call that needs it has left then. */
  async get(signal: AbortSignal): Promise<string | Failure> {
    const stopped = Promise.withResolvers<Failure>();
    const stop = () => stopped.resolve({ kind: 'stopped', sent: false });
    signal.addEventListener('abort', stop, { once: true });
    try {
      return await Promise.race([this.#fetchToken(), stopped.promise]);
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }

  /** For a token that the API refused before its time. */
  forget(): void {
    this.#signer = this.#newSigner();
  }

  async #fetchToken(): Promise<string | Failure> {
    try {
      const { token } = await this.#signer.getAccessToken();
      return token ?? { kind: 'token', status: 200, words: '', retryAfterMs: null };
    } catch (error) {
      return tokenFailure(error, this.#watched?.answered ?? null);
    }
  }

  #newSigner(): Signer {
    const { email, key, tokenUrl } = this.#account;
    return new this.#library.auth.JWT({
      email,
      key: key.reveal(),
      scopes,
      // The client has Google's address of the endpoint built in and asks nothing else through this.
      transporterOptions: {
        retryConfig: { retry: 0 },
        fetchImplementation: (_url, init) => {
          const ended = AbortSignal.any([AbortSignal.timeout(fetchTimeoutMs), this.#closed]);
          this.#watched = new WatchedFetch(maxTokenBytes, ended);
          return this.#watched.fetch(tokenUrl, init);
        },
      },
    });
  }
}

function tokenFailure(error: unknown, answered: Response | null): Failure {
  if (answered === null || answered.ok) {
    const { words } = isTimeout(error) ? { words: 'no answer in time' } : fetchFailure(error);
    return { kind: 'network', sent: false, words };
  }
  return { ...httpFailure(answered), kind: 'token', words: oauthError(error) };
}

function isTimeout(error: unknown): boolean {
  return (error as { code?: unknown }).code === 'TimeoutError';
}

function oauthError(error: unknown): string {
  const { response } = error as { response?: { data?: { error?: unknown; error_description?: unknown } } };
  const { error: code, error_description: description } = response?.data ?? {};
  return [code, description]
    .filter((part) => typeof part === 'string')
    .join(': ')
    .slice(0, 300);
}
