import { hash, randomBytes } from 'node:crypto';
import { putLast } from '../support/lists.ts';
import type { PasswordRole } from './roles.ts';

/** Somebody who logged in on the operations page. */
export interface Session {
  /** The name given at the login. */
  readonly who: string;
  readonly role: PasswordRole;
  /** The token that forms have to send back, so that no other site can make a browser send one. */
  readonly csrf: string;
  /** The host that the browser called. The session does not count under another one. */
  readonly host: string;
  readonly endsAt: number;
  /** A digest of the role's password of that time: a new one ends its sessions. */
  readonly password: string;
}

const lastsMs = 12 * 3_600_000;
/** The number of sessions. Beyond it, the oldest is ended. */
const most = 500;

/** Browsers keep cookies for a host, whatever its port: with one name, a second connector on this machine would log out of the first. */
const cookieName = (host: string): string =>
  ['candidate_connector_session', /:(\d+)$/.exec(host)?.[1] ?? []].flat().join('_');

export const randomToken = (): string => randomBytes(24).toString('base64url');

/** The sessions, in memory only: a restart ends them. */
export class Sessions {
  readonly #sessions = new Map<string, Session>();

  /** Starts a session. Returns the value of its cookie. */
  start(session: Pick<Session, 'who' | 'role' | 'host'>, password: string, now: number): string {
    const id = randomToken();
    const begun = { ...session, csrf: randomToken(), endsAt: now + lastsMs, password: digest(password) };
    putLast(this.#sessions, digest(id), begun, most);
    return id;
  }

  /** The session that a cookie names; null if there is none. `passwordOf`: the password of a role today. */
  find(
    cookies: string | undefined,
    host: string,
    passwordOf: (role: PasswordRole) => string | null,
    now: number,
  ): Session | null {
    const key = digest(idIn(cookies, host));
    const session = this.#sessions.get(key);
    if (session === undefined || session.host !== host) return null;
    const password = passwordOf(session.role);
    if (session.endsAt > now && password !== null && session.password === digest(password)) return session;
    this.#sessions.delete(key);
    return null;
  }

  end(cookies: string | undefined, host: string): void {
    this.#sessions.delete(digest(idIn(cookies, host)));
  }
}

/** Sessions are found by digests, so that the time of a search tells nothing of an id. */
const digest = (text: string): string => hash('sha256', text);

function idIn(cookies: string | undefined, host: string): string {
  const pairs = (cookies ?? '').split(';').map((pair) => pair.trim().split('='));
  return pairs.find(([name]) => name === cookieName(host))?.[1] ?? '';
}

/** The header that sets the cookie of a host. `id` null: the browser forgets it. */
export function sessionCookie(id: string | null, host: string, isHttps: boolean): string {
  const age = id === null ? 0 : lastsMs / 1000;
  const secure = isHttps ? '; Secure' : '';
  return `${cookieName(host)}=${id ?? ''}; Path=/; Max-Age=${age}; HttpOnly; SameSite=Strict${secure}`;
}

/** The path to go to after the login: always one of this site. */
export function localPath(next: unknown): string {
  const url =
    typeof next === 'string' && next.startsWith('/') ? URL.parse(next, 'http://here.invalid') : null;
  if (url?.host !== 'here.invalid' || url.pathname.startsWith('//') || url.pathname === '/login') return '/';
  return `${url.pathname}${url.search}`;
}
