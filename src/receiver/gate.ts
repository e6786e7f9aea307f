import type { IncomingMessage } from 'node:http';
import { addressList, listHas } from '../http/addresses.ts';
import type { ReceiverConfig } from '../config/config.ts';
import { sameText } from '../support/secret.ts';
import { addressIn, judgeAddress, trustOf, type Judgement } from './address.ts';

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
