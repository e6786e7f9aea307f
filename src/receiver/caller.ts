import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import type { ReceiverConfig } from '../config/config.ts';
import { addressList, listHas } from '../http/addresses.ts';
import type { Refusal } from '../http/problem.ts';
import { sameText } from '../support/secret.ts';

/** Who may call, compiled from a config. */
export interface Gate {
  judge(req: IncomingMessage): Judgement;
  allows(address: string | null): boolean;
  /** Whether a connection from there may bring events: from a sender, or from a proxy of ours. */
  knows(peer: string): boolean;
  /** True where no token is configured. */
  hasToken(req: IncomingMessage): boolean;
}

const gates = new WeakMap<ReceiverConfig, Gate>();

/** A reload brings another config object, so the compiled form is kept by identity and dies with its config. */
export function gateOf(config: ReceiverConfig): Gate {
  const known = gates.get(config);
  if (known) return known;
  const gate = compileGate(config);
  gates.set(config, gate);
  return gate;
}

function compileGate(config: ReceiverConfig): Gate {
  const trust = trustOf(config.trustProxy);
  const allowed = config.allowFrom === 'any' ? null : addressList(config.allowFrom);
  const token = config.token?.reveal();
  const allows = (address: string | null) =>
    allowed === null || (address !== null && listHas(allowed, address));
  return {
    judge: (req) => judgeAddress(req.socket.remoteAddress ?? '', forwardedFor(req), trust),
    allows,
    knows(peer) {
      const address = addressIn(peer);
      return address !== null && (allows(address) || trust(address, 0));
    },
    hasToken: (req) => token === undefined || tokensOf(req).some((given) => sameText(given, token)),
  };
}

function forwardedFor(req: IncomingMessage): string | undefined {
  const value = req.headers['x-forwarded-for'];
  return Array.isArray(value) ? value.join(',') : value;
}

function tokensOf(req: IncomingMessage): string[] {
  const url = req.url ?? '';
  const query = url.includes('?') ? url.slice(url.indexOf('?')) : '';
  const bearer = /^bearer +(\S+)$/i.exec(req.headers.authorization ?? '')?.[1];
  return [...new URLSearchParams(query).getAll('token'), ...(bearer === undefined ? [] : [bearer])];
}

/** Why this caller may not send events at all, null if it may. */
export function refuseCaller(req: IncomingMessage, gate: Gate, judged: Judgement): Refusal | null {
  if (req.method !== 'POST') {
    return { status: 405, detail: 'Events are sent with POST.', headers: { allow: 'POST' } };
  }
  if (!gate.allows(judged.address)) {
    return { status: 403, detail: 'This address may not send events.' };
  }
  if (!gate.hasToken(req)) {
    const detail = 'The token is missing or wrong. It belongs into ?token= or Authorization: Bearer.';
    return { status: 401, detail, headers: { 'www-authenticate': 'Bearer' } };
  }
  return null;
}

/** What a person needs to know to let a refused address in, if it is theirs: for the log, never for the caller. */
export function explainAddress(judged: Judgement, config: ReceiverConfig): Record<string, unknown> {
  return {
    judged: judged.address,
    hops: judged.hops.slice(-maxEntries).map(shorten),
    unbelieved: judged.unbelieved.slice(-maxEntries).map(shorten),
    trustProxy: config.trustProxy,
    advice: adviceOn(judged, config.trustProxy),
  };
}

const maxEntries = 10;

function adviceOn(
  { address, hops, unbelieved }: Judgement,
  trustProxy: ReceiverConfig['trustProxy'],
): string {
  const last = shorten(hops.at(-1) ?? '');
  if (address === null) {
    return `"${last}" in X-Forwarded-For is no address; see that the proxies in receiver.trustProxy write one`;
  }
  const add = `if ${address} is the sender, add it to receiver.allowFrom`;
  if (unbelieved.length === 0) return add;
  const trust =
    typeof trustProxy === 'number'
      ? `set receiver.trustProxy to its address, or to ${hops.length}`
      : 'add it to receiver.trustProxy';
  return `${add}; if it is a proxy of yours, ${trust}`;
}

/** The caller writes X-Forwarded-For as long as it likes. */
function shorten(entry: string): string {
  return entry.length > 60 ? `${entry.slice(0, 60)}…` : entry;
}

/** Says whether the address that is `hop` steps away from us (0: the peer itself) is a proxy of ours. */
export type Trust = (address: string, hop: number) => boolean;

export function trustOf(trustProxy: number | readonly string[]): Trust {
  if (typeof trustProxy === 'number') return (_address, hop) => hop < trustProxy;
  const proxies = addressList(trustProxy);
  return (address) => listHas(proxies, address);
}

export interface Judgement {
  /** The address that stands for the sender; null where a trusted proxy named something that is no address. */
  readonly address: string | null;
  /** From the peer to the judged one, as they were written. */
  readonly hops: readonly string[];
  /** What X-Forwarded-For names beyond the judged one: nobody we trust vouches for it. */
  readonly unbelieved: readonly string[];
}

/**
 * Walks from the peer backwards through X-Forwarded-For for as long as the one who wrote an entry is trusted. Only the
 * right end of that header is written by proxies of ours; everything left of it may be the sender's invention.
 */
export function judgeAddress(peer: string, forwardedFor: string | undefined, trust: Trust): Judgement {
  const entries = forwardedFor === undefined ? [] : forwardedFor.split(',').map((entry) => entry.trim());
  const hops = [peer];
  let address = addressIn(peer);
  while (address !== null && entries.length > 0 && trust(address, hops.length - 1)) {
    const entry = entries.pop() ?? '';
    hops.push(entry);
    address = addressIn(entry);
  }
  return { address, hops, unbelieved: entries };
}

/** Proxies write `192.0.2.1`, `192.0.2.1:4711`, `2001:db8::1`, `[2001:db8::1]` or `[2001:db8::1]:4711`. */
function addressIn(entry: string): string | null {
  const bare = /^\[([^\]]+)\](?::\d+)?$/.exec(entry)?.[1] ?? /^([\d.]+):\d+$/.exec(entry)?.[1] ?? entry;
  const address = bare.replace(/%.*$/, '');
  if (isIP(address) === 0) return null;
  return /^::ffff:([\d.]+)$/i.exec(address)?.[1] ?? address;
}

export interface Correlation {
  readonly id: string | null;
  /** Why a header that was there is not used. */
  readonly unusable: string | null;
}

const generic = ['x-correlation-id', 'x-correlationid'];
const usable = /^[\x20-\x7e]{1,200}$/;
const none: Correlation = { id: null, unusable: null };

/** `setting`: a header's name in lower case, or `auto` for any X-…-CorrelationId, as the real one carries the sender's brand. */
export function correlationOf(headers: IncomingHttpHeaders, setting: string): Correlation {
  const name = setting === 'auto' ? findHeader(headers) : setting;
  const value = name !== undefined && Object.hasOwn(headers, name) ? headers[name] : undefined;
  if (value === undefined || value === '') return none;
  if (typeof value === 'string' && usable.test(value)) return { id: value, unusable: null };
  return { id: null, unusable: `${name} is not 1 to 200 printable ASCII characters, so it was not used` };
}

function findHeader(headers: IncomingHttpHeaders): string | undefined {
  for (const name in headers) {
    if (!name.startsWith('x-') || generic.includes(name)) continue;
    if (name.endsWith('-correlationid') || name.endsWith('-correlation-id')) return name;
  }
  return generic.find((name) => headers[name] !== undefined);
}
