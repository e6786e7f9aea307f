import type { Request } from 'express';
import type { Config } from '../config/config.ts';
import { adminPasswords } from '../config/settings.ts';
import { addressList, listHas } from '../http/addresses.ts';
import { sameText } from '../support/secret.ts';

/**
 * A role on the admin port. `full`: may do all. `viewer`: may look at all but personal facts of look-ups. `metrics`: may read
 * /metrics. `open`: nobody has to log in, and everybody may look at all.
 */
export type Role = 'full' | 'viewer' | 'metrics' | 'open';
/** The roles that have a password. */
export type PasswordRole = Exclude<Role, 'open'>;

type Admin = Config['admin'];

const roles = { password: 'full', viewer: 'viewer', metrics: 'metrics' } as const;

export function passwordOf(admin: Admin, role: PasswordRole): string | null {
  const key = adminPasswords.find((one) => roles[one] === role)!;
  return admin[key]?.reveal() ?? null;
}

/** The role that has this password; null if none has. */
export function roleWith(admin: Admin, given: string): PasswordRole | null {
  const key = adminPasswords.find((one) => {
    const secret = admin[one];
    return secret !== null && sameText(given, secret.reveal());
  });
  return key === undefined ? null : roles[key];
}

type Proxy = NonNullable<Admin['proxy']>;

const lists = new WeakMap<Proxy, ReturnType<typeof addressList>>();

/**
 * The person whom the proxy that logs people in has let through; null if there is none. Only the peer of the connection
 * counts as the proxy. A header that comes twice names nobody.
 */
export function namedByProxy(
  { proxy }: Admin,
  { socket, headersDistinct }: Request,
): { readonly who: string; readonly role: Proxy['role'] } | null {
  if (proxy === null) return null;
  const list = lists.getOrInsertComputed(proxy, ({ from }) => addressList(from));
  const [name = '', ...others] = headersDistinct[proxy.header] ?? [];
  if (others.length > 0 || !listHas(list, socket.remoteAddress ?? '')) return null;
  // Node reads headers as Latin-1; proxies write UTF-8.
  const who = Buffer.from(name, 'latin1').toString('utf8').trim();
  return who === '' ? null : { who, role: proxy.role };
}
