import { isIP } from 'node:net';
import { addressList, listHas } from '../http/addresses.ts';

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
export function addressIn(entry: string): string | null {
  const bare = /^\[([^\]]+)\](?::\d+)?$/.exec(entry)?.[1] ?? /^([\d.]+):\d+$/.exec(entry)?.[1] ?? entry;
  const address = bare.replace(/%.*$/, '');
  if (isIP(address) === 0) return null;
  return /^::ffff:([\d.]+)$/i.exec(address)?.[1] ?? address;
}
