/** What one POST of an event came to, redirects followed. */
export type Posted =
  | { readonly status: number; readonly body: string; readonly redirects: readonly Redirect[] }
  /** There was no answer; `failure` says why in plain words. */
  | { readonly status: null; readonly failure: string; readonly redirects: readonly Redirect[] };

export interface Redirect {
  readonly status: number;
  readonly url: string;
  /** What was asked for there; after a 301, 302 or 303 it is GET, and the event stays behind. */
  readonly method: 'POST' | 'GET';
}

interface PostRequest {
  readonly url: string;
  readonly body: string;
  readonly correlationId: string;
  readonly timeoutMs: number;
}

const maxRedirects = 10;
const keepsMethod = new Set([307, 308]);

/** One POST with the headers that the service sends; `timeoutMs` holds for the whole way, as the service's does. */
export async function postEvent(request: PostRequest): Promise<Posted> {
  const redirects: Redirect[] = [];
  try {
    return await follow(request, redirects);
  } catch (error) {
    return { status: null, failure: plainWords(error, request.timeoutMs), redirects };
  }
}

async function follow(
  { url, body, correlationId, timeoutMs }: PostRequest,
  redirects: Redirect[],
): Promise<Posted> {
  const signal = AbortSignal.timeout(timeoutMs);
  const correlation = { 'x-service-correlationid': correlationId };
  const post = {
    method: 'POST',
    headers: { ...correlation, 'content-type': 'application/json; charset=utf-8' },
    body,
  };
  for (;;) {
    const at = redirects.at(-1) ?? { url, method: 'POST' };
    const how = at.method === 'POST' ? post : { method: 'GET', headers: correlation };
    const response = await fetch(at.url, { ...how, redirect: 'manual', signal });
    const text = await response.text();
    const next = redirectOf(response, at.url, at.method);
    if (!next) return { status: response.status, body: text, redirects };
    if (redirects.length === maxRedirects) {
      return { status: null, failure: `more than ${maxRedirects} redirects`, redirects };
    }
    redirects.push(next);
  }
}

function redirectOf({ status, headers }: Response, url: string, method: 'POST' | 'GET'): Redirect | null {
  const location = headers.get('location');
  if (status < 300 || status > 399 || location === null) return null;
  return { status, url: new URL(location, url).href, method: keepsMethod.has(status) ? method : 'GET' };
}

const causes: Partial<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused; is it running, and is the port right?',
  ECONNRESET: 'the connection was closed before an answer came',
  UND_ERR_SOCKET: 'the connection was closed before an answer came',
  ENOTFOUND: 'there is no host of that name',
  EAI_AGAIN: 'the name of the host could not be looked up just now',
};

function plainWords(error: unknown, timeoutMs: number): string {
  if (!(error instanceof Error)) return String(error);
  if (error.name === 'TimeoutError') return `no answer within ${timeoutMs / 1_000} s`;
  // fetch says only that it failed; what happened is in the cause.
  const cause = error.cause instanceof Error ? error.cause : error;
  const code = 'code' in cause ? String(cause.code) : '';
  return causes[code] ?? (cause.message || code || error.message);
}
