import { z } from 'zod';
import { Secret } from '../../src/connector.ts';

/** Where calls go, taken apart once so that no call has to. */
export interface Endpoint {
  /** Scheme, host and port. */
  readonly origin: string;
  /** Without the brackets of an IPv6 address. */
  readonly hostname: string;
  /** Without a slash at its end. */
  readonly path: string;
  /** With its question mark; empty if there is none. */
  readonly query: string;
  readonly login: { readonly user: string; readonly password: Secret } | null;
}

/** The `url` option. A login in it goes out as Basic authorization. */
export const endpoint = z
  .string()
  .transform((text, context): Endpoint => {
    const url = URL.parse(text);
    if (url && /^https?:$/.test(url.protocol)) return endpointOf(url);
    context.addIssue({ code: 'custom', message: 'expected a URL such as https://ats.example.com/hooks' });
    return z.NEVER;
  })
  .describe('Where to call, as in https://ats.example.com/hooks.');

function endpointOf({ origin, hostname, pathname, search, username, password }: URL): Endpoint {
  return {
    origin,
    hostname: hostname.replace(/^\[|\]$/g, ''),
    path: pathname.replace(/\/$/, ''),
    query: search,
    login: username === '' ? null : { user: decoded(username), password: new Secret(decoded(password)) },
  };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The request's target for an action's `path`, which starts with a slash, or with a question mark, or is empty. */
export function targetOf({ path: base, query }: Endpoint, path: string): string {
  const mark = path.indexOf('?');
  if (mark === -1) return (base + path || '/') + query;
  const target = base + path.slice(0, mark) || '/';
  return `${target}${query === '' ? '?' : `${query}&`}${path.slice(mark + 1)}`;
}
