import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { isIP, isIPv4 } from 'node:net';
import type { CallerTokens } from '../config/live/caller-tokens.ts';
import type { ReceiverConfig } from '../config/config.ts';
import { addressList, isInternal, listHas } from '../http/addresses.ts';
import type { Refusal } from '../http/problem.ts';

/** Decides who may call, compiled from a config. */
export interface Gate {
  callerOf(req: IncomingMessage): Caller;
  allows(address: string | null): boolean;
  /** Whether the peer of a connection is an allowed sender or a trusted proxy. */
  knows(peer: string): boolean;
  /** Whether a peer speaks for the service: its address is one of those that are listed, or a trusted proxy's. Nobody scans from there. */
  isOfTheService(peer: string): boolean;
}

const gates = new WeakMap<ReceiverConfig, Gate>();

/** The gate of a config. It is made once for each: a reload makes another config. */
export const gateOf = (config: ReceiverConfig): Gate => gates.getOrInsertComputed(config, compileGate);

function compileGate({ allowFrom, trustProxy }: ReceiverConfig): Gate {
  const isTrusted = trustOf(trustProxy);
  const allowed = allowFrom === 'any' ? null : addressList(allowFrom);
  const allows = (address: string | null) =>
    allowed === null || (address !== null && listHas(allowed, address));
  return {
    callerOf({ socket, headers: { 'x-forwarded-for': header } }) {
      const forwardedFor = Array.isArray(header) ? header.join(',') : header;
      return findCaller(socket.remoteAddress ?? '', forwardedFor, isTrusted);
    },
    allows,
    knows(peer) {
      const address = addressIn(peer);
      return address !== null && (allows(address) || isTrusted(address, 0));
    },
    isOfTheService(peer) {
      const address = addressIn(peer);
      if (address === null) return false;
      // A number of proxies trusts whoever connects. One's own proxies connect from within.
      const isProxy = isTrusted(address, 0) && (typeof trustProxy !== 'number' || isInternal(address));
      return isProxy || (allowed !== null && allows(address));
    },
  };
}

function tokensOf(req: IncomingMessage): string[] {
  const url = req.url ?? '';
  const query = url.includes('?') ? url.slice(url.indexOf('?')) : '';
  const bearer = /^bearer +(\S+)$/i.exec(req.headers.authorization ?? '')?.[1];
  const given = new URLSearchParams(query).getAll('token');
  // A plus in a URL's query is read as a space, and may have been meant as a plus.
  return [
    ...given,
    ...given.map((one) => one.replaceAll(' ', '+')),
    ...(bearer === undefined ? [] : [bearer]),
  ];
}

/** The path of a URL, without the query, which may hold the token. */
export function pathOf(url = ''): string {
  const end = url.indexOf('?');
  return end === -1 ? url : url.slice(0, end);
}

const notPosted = { status: 405, headers: { allow: 'POST' } };

/** The refusal of what was an event until it was redirected: it comes as a GET without its body. */
export const redirected: Refusal = {
  ...notPosted,
  detail:
    'This was an event, but a redirect on the way emptied it: a redirected POST comes as a GET without its body. Enter the final address as webhook URL in the service: https, the right host and path, no slash too many.',
};

/** Why a caller may not send events, or a warning about one that may; null where there is neither. */
export function judgeCaller(
  req: IncomingMessage,
  gate: Gate,
  caller: Caller,
  tokens: Pick<CallerTokens, 'judge'>,
  now: number,
): Refusal | { readonly warning: string } | null {
  if (req.method !== 'POST') {
    return { ...notPosted, detail: 'Events are sent with POST.' };
  }
  if (!gate.allows(caller.address)) {
    return { status: 403, detail: 'This address may not send events.' };
  }
  const token = tokens.judge(() => tokensOf(req), now);
  if (token === 'wrong') {
    const detail = 'The token is missing or wrong. Send it as ?token= or Authorization: Bearer.';
    return { status: 401, detail, headers: { 'www-authenticate': 'Bearer' } };
  }
  if (token === 'valid') return null;
  const until = new Date(token.formerUntil).toISOString();
  return {
    warning: `sent with the token from before receiver.token was changed; it is valid until ${until} at most`,
  };
}

export interface Caller {
  /** The sender's address; null if a trusted proxy did not write a valid one. */
  readonly address: string | null;
  /** The addresses from the peer to the caller, as written. */
  readonly hops: readonly string[];
  /** The entries of X-Forwarded-For beyond the caller, which no trusted proxy wrote. */
  readonly untrusted: readonly string[];
}

/** Whether an address is a trusted proxy. `hop` is its distance; the peer has 0. */
export type Trust = (address: string, hop: number) => boolean;

export function trustOf(trustProxy: number | readonly string[]): Trust {
  if (typeof trustProxy === 'number') return (_address, hop) => hop < trustProxy;
  const proxies = addressList(trustProxy);
  return (address) => listHas(proxies, address);
}

/**
 * Finds the caller. Reads X-Forwarded-For from its end, as long as the writer of an entry is a trusted proxy: the sender may
 * have invented everything left of that.
 */
export function findCaller(peer: string, header: string | undefined, isTrusted: Trust): Caller {
  const entries = header === undefined ? [] : header.split(',').map((entry) => entry.trim());
  const hops = [peer];
  let address = addressIn(peer);
  while (address !== null && entries.length > 0 && isTrusted(address, hops.length - 1)) {
    const entry = entries.pop() ?? '';
    hops.push(entry);
    address = addressIn(entry);
  }
  return { address, hops, untrusted: entries };
}

/** The address in an entry; null if none. Proxies write `192.0.2.1:4711`, `2001:db8::1` or `[2001:db8::1]:4711`, too. */
function addressIn(entry: string): string | null {
  if (isIPv4(entry)) return entry;
  const bare = /^\[([^\]]+)\](?::\d+)?$/.exec(entry)?.[1] ?? /^([\d.]+):\d+$/.exec(entry)?.[1] ?? entry;
  const address = bare.replace(/%.*$/, '');
  if (isIP(address) === 0) return null;
  return /^::ffff:([\d.]+)$/i.exec(address)?.[1] ?? address;
}

const maxLoggedEntries = 10;

/** Fields for the log, with what a person needs to allow a refused address. */
export function explainAddress(caller: Caller, { trustProxy }: ReceiverConfig): Record<string, unknown> {
  return {
    judged: caller.address,
    hops: caller.hops.slice(-maxLoggedEntries).map(shorten),
    untrusted: caller.untrusted.slice(-maxLoggedEntries).map(shorten),
    trustProxy,
    advice: adviceOn(caller, trustProxy),
  };
}

function adviceOn({ address, hops, untrusted }: Caller, trustProxy: ReceiverConfig['trustProxy']): string {
  if (address === null) {
    const entry = shorten(hops.at(-1) ?? '');
    return `"${entry}" in X-Forwarded-For is not an address; configure the proxies in receiver.trustProxy to write one`;
  }
  const add = `if ${address} is the sender, add it to receiver.allowFrom`;
  const isTrusted = trustOf(trustProxy)(address, hops.length - 1);
  const isDirect = hops.length === 1 && untrusted.length === 0;
  if (isDirect && !isTrusted) return add;
  const trust =
    typeof trustProxy === 'number'
      ? `set receiver.trustProxy to its address, or to ${hops.length}`
      : 'add it to receiver.trustProxy';
  const keep =
    'let each proxy add to X-Forwarded-For, and not write it anew: it does not say whom this came from';
  const steps = [...(isTrusted ? [] : [trust]), ...(untrusted.length === 0 ? [keep] : [])];
  return `${add}; if it is a proxy of yours, ${steps.join(', and ')}`;
}

/** An entry of bounded length: a caller can send any. */
function shorten(entry: string): string {
  return entry.length > 60 ? `${entry.slice(0, 60)}…` : entry;
}

export interface Correlation {
  readonly id: string | null;
  /** Why the header's value is not used. */
  readonly unusable: string | null;
}

const noCorrelation: Correlation = { id: null, unusable: null };
const genericHeaders = ['x-correlation-id', 'x-correlationid'];
const usableId = /^[\x20-\x7e]{1,200}$/;

/** `setting`: a header's name in lower case, or `auto` for any X-…-CorrelationId, where … is the service's brand. */
export function correlationOf(headers: IncomingHttpHeaders, setting: string): Correlation {
  const name = setting === 'auto' ? findHeader(headers) : setting;
  const value = name !== undefined && Object.hasOwn(headers, name) ? headers[name] : undefined;
  if (value === undefined || value === '') return noCorrelation;
  if (typeof value === 'string' && usableId.test(value)) return { id: value, unusable: null };
  return { id: null, unusable: `${name} is not 1 to 200 printable ASCII characters, so it was not used` };
}

function findHeader(headers: IncomingHttpHeaders): string | undefined {
  for (const name in headers) {
    if (!name.startsWith('x-') || genericHeaders.includes(name)) continue;
    if (name.endsWith('-correlationid') || name.endsWith('-correlation-id')) return name;
  }
  return genericHeaders.find((name) => headers[name] !== undefined);
}
