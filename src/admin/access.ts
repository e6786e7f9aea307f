import { hash } from 'node:crypto';
import type { Request, RequestHandler, Response } from 'express';
import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';
import { isOpen, tooShort } from '../config/settings.ts';
import { isLoopback } from '../http/addresses.ts';
import { answerProblem, type Refusal } from '../http/problem.ts';
import { sameText } from '../support/secret.ts';
import { seldom } from '../ops/log.ts';
import { Guesses } from './guesses.ts';
import { namedByProxy, passwordOf, type PasswordRole, type Role, roleWith } from './roles.ts';
import { localPath, randomToken, sessionCookie, Sessions } from './sessions.ts';

/** The name of somebody who logged in without one. */
export const unnamed = 'somebody on the operations page';

/** The sender of a request: a person, or a program. */
export interface Person {
  /** The name. */
  readonly who: string;
  /** The address. */
  readonly from: string;
  /** The token that forms have to send back; null for a program. */
  readonly csrf: string | null;
  /** Logged in with a session, and so able to log out. */
  readonly hasSession: boolean;
  readonly role: Role;
}

interface AccessOptions {
  /** Called for every request, so that a new password takes effect at once. */
  readonly config: () => Config['admin'];
  readonly log: Logger;
  readonly wrongPasswordDelayMs?: number;
}

const persons = new WeakMap<Request, Person>();

/** The sender of a request that was let in. */
export const personOf = (req: Request): Person => persons.get(req)!;

/** Why the password in the login's form was not taken; undefined where none was sent. */
export const refusedLogin = (req: Request): 'wrong' | 'busy' | undefined => refusedLogins.get(req);
const refusedLogins = new WeakMap<Request, 'wrong' | 'busy'>();

/** Why a form was refused, and the page that it was on. */
interface RefusedForm extends Refusal {
  readonly page: string;
}

/** That of a request for which the page about it is shown. */
export const formRefused = (req: Request): RefusedForm => refusals.get(req)!;
const refusals = new WeakMap<Request, RefusedForm>();

/**
 * Decides who may see and do what on the admin port. Somebody with a password is let in, by a session or by HTTP Basic under
 * any user name; so is somebody whom the proxy names. Without either, the port is on loopback, and everybody on this machine
 * may look.
 */
export class Access {
  readonly #options: AccessOptions;
  readonly #sessions = new Sessions();
  readonly #guesses = new Guesses();
  readonly #noteWrong: (address: string) => void;
  /** The token of forms that are sent without a session. */
  readonly #csrf = randomToken();

  constructor(options: AccessOptions) {
    this.#options = options;
    this.#noteWrong = seldom((address, failures) =>
      options.log.warn(
        { address, failures },
        'wrong password on the admin port; the address is the last one',
      ),
    );
  }

  /**
   * Refuses requests from elsewhere. Without a password, any site could have its name lead to this machine and read the
   * pages: so only the machine's own names are answered, and no proxy, which may bring anybody. With one, no request that
   * comes from another site may change anything.
   */
  readonly refuseForeign: RequestHandler = (req, res, next) => {
    const closed = tooShort(this.#options.config());
    if (closed !== null) return answerProblem(res, { status: 403, detail: closed.message });
    if (isOpen(this.#options.config()) && (!isLoopback(hostname(req)) || cameThroughProxy(req)))
      return answerProblem(res, misdirected);
    if (!isSafe(req) && isFromElsewhere(req)) return answerProblem(res, fromElsewhere);
    next();
  };

  /** Lets in senders who may. Sends browsers to the login, which leads back to where they wanted to go. */
  readonly require: RequestHandler = (req, res, next) => {
    const given = givenLogin(req.headers.authorization);
    const person = this.#personWithout(req) ?? (given && this.#personWith(given, req));
    if (person === 'wrong') return this.#later(() => askForLogin(req, res));
    if (person === 'busy' && !wantsPage(req)) return answerProblem(res, tooMany);
    if (person === null || person === 'busy') return askForLogin(req, res);
    if (person.role === 'metrics' && req.path !== '/metrics') return answerProblem(res, onlyMetrics);
    persons.set(req, person);
    next();
  };

  /** Handles the login's form, whose body has been read. Goes on to the login's page where the password is not taken. */
  readonly login: RequestHandler = (req, res, next) => {
    const { password = '', name, next: wanted } = fieldsOf(req);
    if (!isOpen(this.#options.config())) {
      const role = this.#judge(password, req, ['full', 'viewer']);
      if (role === 'wrong' || role === 'busy') {
        refusedLogins.set(req, role);
        if (role === 'wrong') return this.#later(next);
        res.set(tooMany.headers);
        return next();
      }
      const who = (name ?? '').trim().slice(0, longestName) || unnamed;
      const id = this.#sessions.start({ who, role, host: hostOf(req) }, password, Date.now());
      res.set('set-cookie', sessionCookie(id, hostOf(req), isHttps(req)));
    }
    res.redirect(303, localPath(wanted));
  };

  readonly logout: RequestHandler = (req, res) => {
    this.#sessions.end(req.headers.cookie, hostOf(req));
    res.set('set-cookie', sessionCookie(null, hostOf(req), isHttps(req))).redirect(303, '/login');
  };

  /**
   * Refuses changes by viewers, and forms without their token. To be used after the body has been read. `show`: answers a
   * browser with a page that says so.
   */
  readonly requireToken =
    (show: RequestHandler): RequestHandler =>
    (req, res, next) => {
      const refusal = refusalOf(req);
      if (refusal === null) return next();
      if (!wantsPage(req)) return answerProblem(res, refusal);
      refusals.set(req, { ...refusal, page: pageOf(req) });
      return show(req, res, next);
    };

  /** The sender, where no password in the request is needed: by an open port, the proxy or a session; else null. */
  #personWithout(req: Request): Person | null {
    const admin = this.#options.config();
    const from = addressOf(req);
    if (isOpen(admin))
      return { who: 'somebody on this machine', from, csrf: this.#csrf, hasSession: false, role: 'open' };
    const named = namedByProxy(admin, req);
    if (named !== null) {
      const who = named.who.slice(0, longestName);
      // A program sends no form. Browsers say of all that may change something where it comes from.
      const isFromBrowser = 'origin' in req.headers || 'sec-fetch-site' in req.headers;
      const csrf = isSafe(req) || isFromBrowser ? hash('sha256', this.#csrf + named.who) : null;
      return { who, from, csrf, hasSession: false, role: named.role };
    }
    const current = (role: PasswordRole) => passwordOf(admin, role);
    const session = this.#sessions.find(req.headers.cookie, hostOf(req), current, Date.now());
    if (session === null) return null;
    const { who, csrf, role } = session;
    return { who, from, csrf, hasSession: true, role };
  }

  #personWith({ user, password }: Login, req: Request): Person | 'wrong' | 'busy' {
    const role = this.#judge(password, req);
    if (role === 'wrong' || role === 'busy') return role;
    const who = user || 'a program';
    return { who, from: addressOf(req), csrf: null, hasSession: false, role };
  }

  /** The role of a password. `roles`: those that are let in here; default: all. */
  #judge(password: string, req: Request, roles?: readonly PasswordRole[]): PasswordRole | 'wrong' | 'busy' {
    const from = addressOf(req);
    // Behind a proxy all share its address. What it says of the sender only tells people apart: a forged one gains nothing.
    // Some write a port behind it, which is another with each connection.
    const forwarded = String(req.headers['x-forwarded-for'] ?? '').replaceAll(/(\.\d+):\d+/g, '$1');
    const sender = [from, forwarded].join(' ');
    const judged = this.#guesses.judge(password, sender, (given) => {
      const role = roleWith(this.#options.config(), given);
      return role !== null && (roles?.includes(role) ?? true) ? role : null;
    });
    if (judged === 'wrong') this.#noteWrong(from);
    return judged;
  }

  /** Delays the answer to a wrong password. */
  #later(answer: () => void): void {
    setTimeout(answer, this.#options.wrongPasswordDelayMs ?? 1000);
  }
}

const addressOf = ({ socket }: Request): string => socket.remoteAddress ?? '';

/** The forms that change nothing: they try a config. */
const changeNothing = new Set(['/rules/try', '/rules/check']);

const longestName = 60;

const misdirected: Refusal = {
  status: 421,
  detail:
    'Without a password, this port is only for this machine: call it localhost, without a proxy, or set admin.password.',
};
const fromElsewhere: Refusal = {
  status: 403,
  detail:
    'This request comes from another site; or a proxy in front changes the header Host, and has to pass on the one that it gets.',
};
const onlyReads: Refusal = {
  status: 403,
  detail:
    'Without a password this port only reads. To change something here, set admin.password; or use the command.',
};
const onlyViews: Refusal = {
  status: 403,
  detail: 'Who is a viewer here sees, and changes nothing. For that, log in with admin.password.',
};
const onlyMetrics: Refusal = { status: 403, detail: 'This password is for /metrics alone.' };
const tooMany = {
  status: 429,
  detail: 'There were too many wrong passwords just now. Try again in a moment.',
  headers: { 'retry-after': '1' },
};
const noToken: Refusal = {
  status: 403,
  detail: 'This form is too old, or comes from another site. Load its page again.',
};

/**
 * Sends a browser to the login, also with a wrong password by HTTP Basic: it got that for a proxy in front, which passes it
 * on, and would only ask for it again. A program is refused.
 */
function askForLogin(req: Request, res: Response): void {
  if (!wantsPage(req)) return refuse(res);
  // From another site's link a browser sends no session cookie. A reload from this site does.
  if (req.headers['sec-fetch-site'] === 'cross-site') return void res.set('refresh', '0').send('');
  res.redirect(303, loginPath(req));
}

function refuse(res: Response): void {
  const headers = { 'www-authenticate': 'Basic realm="candidate-connector", charset="UTF-8"' };
  answerProblem(res, { status: 401, detail: 'The password is missing or wrong.', headers });
}

interface Login {
  readonly user: string;
  readonly password: string;
}

/** The login of HTTP Basic; null if there is none. Browsers send one only after a 401. */
function givenLogin(authorization = ''): Login | null {
  const encoded = /^basic +(\S+)$/i.exec(authorization)?.[1];
  if (encoded === undefined) return null;
  const pair = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = pair.indexOf(':');
  return { user: pair.slice(0, Math.max(0, colon)).slice(0, longestName), password: pair.slice(colon + 1) };
}

/** Why a request may change nothing; null if it may. */
function refusalOf(req: Request): Refusal | null {
  const { csrf, role, hasSession } = personOf(req);
  if (isSafe(req)) return null;
  if (role === 'open' && !changeNothing.has(req.path)) return onlyReads;
  if (role === 'viewer' && !(hasSession && req.path === '/logout')) return onlyViews;
  const given = fieldsOf(req)['csrf'] ?? req.get('x-csrf-token') ?? '';
  return csrf === null || sameText(given, csrf) ? null : noToken;
}

const isSafe = ({ method }: Request): boolean => method === 'GET' || method === 'HEAD';

const hostOf = ({ headers }: Request): string => (headers.host ?? '').toLowerCase();

/** The host that a request names, without the port, and without the brackets of an IPv6 address. */
function hostname(req: Request): string {
  return (URL.parse(`http://${hostOf(req)}`)?.hostname ?? '').replace(/^\[(.*)\]$/, '$1');
}

const cameThroughProxy = ({ headers }: Request): boolean =>
  ['x-forwarded-for', 'x-forwarded-host', 'x-real-ip', 'forwarded', 'via'].some((name) => name in headers);

/** Browsers say where a form comes from; programs need not. Only over https and to this machine do they say whether it is this site. */
function isFromElsewhere(req: Request): boolean {
  const { origin, 'sec-fetch-site': site } = req.headers;
  if (site !== undefined) return site !== 'none' && site !== 'same-origin';
  return origin !== undefined && URL.parse(origin)?.host !== hostOf(req).replace(/:(80|443)$/, '');
}

const isHttps = (req: Request): boolean => (req.get('x-forwarded-proto') ?? '').split(',')[0] === 'https';

const wantsPage = (req: Request): boolean =>
  req.accepts(['json', 'html']) === 'html' && !req.path.startsWith('/api/') && req.path !== '/metrics';

/** The page that a form was on. */
function pageOf(req: Request): string {
  const referer = URL.parse(req.get('referer') ?? '');
  return localPath(referer?.host === hostOf(req) ? `${referer.pathname}${referer.search}` : '/');
}

/** The path of the login, with where to go afterwards: where the browser wanted to go, or the page that its form was on. */
function loginPath(req: Request): string {
  const local = isSafe(req) ? localPath(req.originalUrl) : pageOf(req);
  const undone = !isSafe(req) && req.path !== '/logout';
  const query = { ...(local !== '/' && { next: local }), ...(undone && { undone: '1' }) };
  return ['/login', new URLSearchParams(query).toString()].filter((part) => part !== '').join('?');
}

/** The fields of a form. A field that came several times is left out. */
export function fieldsOf(req: Request): { readonly [name: string]: string | undefined } {
  const body = (req.body ?? {}) as Readonly<Record<string, unknown>>;
  return Object.fromEntries(
    Object.entries(body).filter((pair): pair is [string, string] => typeof pair[1] === 'string'),
  );
}

/** The values of the field `id`, which may come several times. */
export const idsOf = (req: Request): readonly string[] =>
  [(req.body as { readonly id?: unknown } | undefined)?.id].flat().filter((id) => typeof id === 'string');
