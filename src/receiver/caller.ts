import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import type { ReceiverConfig } from '../config/config.ts';
import { addressList, listHas } from '../http/addresses.ts';
import type { Refusal } from '../http/problem.ts';
import { sameText } from '../support/secret.ts';

/** Who may call, compiled from a config. */
export interface Gate {
  callerOf(req: IncomingMessage): Caller;
  allows(address: string | null): boolean;
  /** Whether a connection from there may bring events: from a sender, or from a proxy of ours. */
  knows(peer: string): boolean;
  /** True where no token is configured. */
  hasToken(req: IncomingMessage): boolean;
}

const gates = new WeakMap<ReceiverConfig, Gate>();

/** A reload brings a new config object, so each gate is cached by its config. */
export function gateOf(config: ReceiverConfig): Gate {
  const known = gates.get(config);
  if (known) return known;
  const gate = compileGate(config);
  gates.set(config, gate);
  return gate;
}

function compileGate(config: ReceiverConfig): Gate {
  const isTrusted = trustOf(config.trustProxy);
  const allowed = config.allowFrom === 'any' ? null : addressList(config.allowFrom);
  const token = config.token?.reveal();
  const allows = (address: string | null) =>
    allowed === null || (address !== null && listHas(allowed, address));
  return {
    callerOf: (req) => findCaller(req.socket.remoteAddress ?? '', forwardedFor(req), isTrusted),
    allows,
    knows(peer) {
      const address = addressIn(peer);
      return address !== null && (allows(address) || isTrusted(address, 0));
    },
    hasToken: (req) => token === undefined || tokensOf(req).some((given) => sameText(given, token)),
  };
}

function tokensOf(req: IncomingMessage): string[] {
  const url = req.url ?? '';
  const query = url.includes('?') ? url.slice(url.indexOf('?')) : '';
  const bearer = /^bearer +(\S+)$/i.exec(req.headers.authorization ?? '')?.[1];
  return [...new URLSearchParams(query).getAll('token'), ...(bearer === undefined ? [] : [bearer])];
}

/** Why this caller may not send events at all; null if it may. */
export function refuseCaller(req: IncomingMessage, gate: Gate, caller: Caller): Refusal | null {
  if (req.method !== 'POST') {
    return { status: 405, detail: 'Events are sent with POST.', headers: { allow: 'POST' } };
  }
  if (!gate.allows(caller.address)) {
    return { status: 403, detail: 'This address may not send events.' };
  }
  if (!gate.hasToken(req)) {
    const detail = 'The token is missing or wrong. Send it as ?token= or Authorization: Bearer.';
    return { status: 401, detail, headers: { 'www-authenticate': 'Bearer' } };
  }
  return null;
}

/** Where a request came from. */
export interface Caller {
  /** The address that stands for the sender; null where a trusted proxy named something that is no address. */
  readonly address: string | null;
  /** From the peer to the caller, as they were written. */
  readonly hops: readonly string[];
  /** What X-Forwarded-For names beyond the caller. No trusted proxy wrote it. */
  readonly untrusted: readonly string[];
}

/** Whether the address that is `hop` steps away from us (0: the peer itself) is a proxy of ours. */
export type Trust = (address: string, hop: number) => boolean;

export function trustOf(trustProxy: number | readonly string[]): Trust {
  if (typeof trustProxy === 'number') return (_address, hop) => hop < trustProxy;
  const proxies = addressList(trustProxy);
  return (address) => listHas(proxies, address);
}

/**
 * Goes from the peer backwards through X-Forwarded-For, as long as the writer of an entry is trusted. Only the right
 * end of that header is written by our proxies; the sender may have invented everything left of it.
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

function forwardedFor(req: IncomingMessage): string | undefined {
  const value = req.headers['x-forwarded-for'];
  return Array.isArray(value) ? value.join(',') : value;
}

/** Proxies write `192.0.2.1`, `192.0.2.1:4711`, `2001:db8::1`, `[2001:db8::1]` or `[2001:db8::1]:4711`. */
function addressIn(entry: string): string | null {
  const bare = /^\[([^\]]+)\](?::\d+)?$/.exec(entry)?.[1] ?? /^([\d.]+):\d+$/.exec(entry)?.[1] ?? entry;
  const address = bare.replace(/%.*$/, '');
  if (isIP(address) === 0) return null;
  return /^::ffff:([\d.]+)$/i.exec(address)?.[1] ?? address;
}

const maxLoggedEntries = 10;

/** For the log: what a person needs to know to let a refused address in. Never sent to the caller. */
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
    return `"${entry}" in X-Forwarded-For is not an address; make the proxies in receiver.trustProxy write one`;
  }
  const add = `if ${address} is the sender, add it to receiver.allowFrom`;
  if (untrusted.length === 0) return add;
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

export interface Correlation {
  readonly id: string | null;
  /** Why a header that was there is not used. */
  readonly unusable: string | null;
}

const genericHeaders = ['x-correlation-id', 'x-correlationid'];
const usableId = /^[\x20-\x7e]{1,200}$/;

/** `setting`: a header's name in lower case, or `auto` for any X-…-CorrelationId (… is the service's brand). */
export function correlationOf(headers: IncomingHttpHeaders, setting: string): Correlation {
  const name = setting === 'auto' ? findHeader(headers) : setting;
  const value = name !== undefined && Object.hasOwn(headers, name) ? headers[name] : undefined;
  if (value === undefined || value === '') return { id: null, unusable: null };
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
