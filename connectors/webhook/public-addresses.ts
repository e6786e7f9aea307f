import { lookup as resolve } from 'node:dns';
import type { LookupAddress, LookupOptions } from 'node:dns';
import { isIP } from 'node:net';
import { addressList, internalV4 } from '../../src/connector.ts';

/** IANA's special-purpose IPv4 ranges: all that is not on the internet. */
const specialV4 = addressList([
  ...internalV4,
  '0.0.0.0/8',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/3',
]);

const globalV6 = addressList(['2000::/3']);

/** Ranges within the global one that are tunnels to other addresses (Teredo, 6to4), documentation, or protocol use. */
const specialV6 = addressList(['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20']);

/** Ranges whose last 32 bits are the IPv4 address that the packets go to: IPv4-mapped and NAT64. */
const embedding = addressList(['::ffff:0:0/96', '64:ff9b::/96']);

/** Whether an IP address, in any of its spellings, is on the internet. */
export function isPublic(address: string): boolean {
  const [bare = ''] = address.split('%', 1);
  if (isIP(bare) === 4) return !specialV4.check(bare);
  if (embedding.check(bare, 'ipv6')) {
    // A URL writes an embedded IPv4 address in hexadecimal groups.
    const groups = new URL(`http://[${bare}]`).hostname.slice(1, -1).split(':').slice(-2);
    const [high = 0, low = 0] = groups.map((group) => Number.parseInt(group || '0', 16));
    return !specialV4.check([high >> 8, high & 255, low >> 8, low & 255].join('.'));
  }
  return globalV6.check(bare, 'ipv6') && !specialV6.check(bare, 'ipv6');
}

/** Thrown where a name resolves to no address that may be called. */
export class PrivateAddressError extends Error {
  override readonly name = 'PrivateAddressError';
}

/** Whether a URL's host is an address that is not public; a name is only known once it is resolved. */
export function isPrivateLiteral(hostname: string): boolean {
  const bare = hostname.replace(/^\[|\]$/g, '');
  return isIP(bare) !== 0 && !isPublic(bare);
}

type Found = (error: Error | null, address: string | LookupAddress[], family?: number) => void;

/**
 * `dns.lookup` with public addresses only. The connection itself uses it, so that the address that was checked is the one
 * connected to: a second look-up could get another answer.
 */
export function lookupPublic(hostname: string, options: LookupOptions, found: Found): void {
  resolve(hostname, { ...options, all: true }, (error, addresses) => {
    if (error) return found(error, []);
    const open = addresses.filter(({ address }) => isPublic(address));
    const [first] = open;
    if (first === undefined) return found(new PrivateAddressError('no public address'), []);
    return options.all ? found(null, open) : found(null, first.address, first.family);
  });
}
