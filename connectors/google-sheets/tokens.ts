import { fetchFailure, httpFailure, WatchedFetch } from '../../src/connector.ts';
import type { ServiceAccount } from './credentials.ts';
import type { Failure } from './failure.ts';

type Library = typeof import('googleapis/build/src/apis/sheets/index.js');
type Signer = InstanceType<Library['auth']['JWT']>;

/** Nothing but the cells of spreadsheets that were shared with the account. */
const scopes = ['https://www.googleapis.com/auth/spreadsheets'];
/** Attempts share a token, so one attempt's end must not end its fetch; this does. */
const fetchTimeoutMs = 10_000;
const maxTokenBytes = 64 * 1024;

/** Access tokens of a service account, kept until shortly before they expire. */
export class Tokens {
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
    const stop = () => stopped.resolve({ kind: 'stopped', left: false });
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
      return failureOf(error, this.#watched?.answered ?? null);
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

function failureOf(error: unknown, answered: Response | null): Failure {
  if (answered === null || answered.ok) {
    const { words } = isTimeout(error) ? { words: 'no answer in time' } : fetchFailure(error);
    return { kind: 'network', left: false, words };
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
