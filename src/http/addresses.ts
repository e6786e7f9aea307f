import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net';

/**
 * Addresses and CIDRs to compare with. IPv4-mapped IPv6 equals its IPv4 address in both directions; BlockList sees to
 * that. Throws on an entry that is neither, which the config's check has ruled out.
 */
export function addressList(ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const parsed = parseRange(range);
    if (!parsed) throw new Error(`not an address or CIDR: ${range}`);
    list.addSubnet(parsed.address, parsed.prefix, familyOf(parsed.address));
  }
  return list;
}

/** `192.0.2.1`, `192.0.2.0/24`, `2001:db8::/32`; null for anything else. */
export function parseRange(range: string): { address: string; prefix: number } | null {
  const [address = '', prefixText, ...rest] = range.split('/');
  const longest = { 0: 0, 4: 32, 6: 128 }[isIP(address)] ?? 0;
  if (longest === 0 || address.includes('%') || rest.length > 0) return null;
  if (prefixText === undefined) return { address, prefix: longest };
  return /^\d{1,3}$/.test(prefixText) && Number(prefixText) <= longest
    ? { address, prefix: Number(prefixText) }
    : null;
}

/** How many addresses a range has. */
export function addressesIn(range: string): number {
  const { address, prefix } = parseRange(range)!;
  return 2 ** ((isIPv4(address) ? 32 : 128) - prefix);
}

export function listHas(list: BlockList, address: string): boolean {
  return list.check(address, familyOf(address));
}

/** Whether a host is this machine. A name may begin with 127, too, and lead anywhere. */
export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'));

/** The IPv4 ranges of this machine, its own networks, and those that providers share among customers. */
export const internalV4 = [
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.168.0.0/16',
];
const internal = addressList([...internalV4, '::1', 'fc00::/7', 'fe80::/10']);

/** Whether an address, or a network, is not on the internet. A sender from there is mostly a proxy. */
export function isInternal(range: string): boolean {
  const parsed = parseRange(range);
  return parsed !== null && listHas(internal, parsed.address);
}

/** Where an address is counted: an IPv6 one by its network (/64), of which whoever has one has all. */
export function networkOf(address: string): string {
  if (!isIPv6(address) || isLoopback(address)) return address;
  // Without zeros in front, and with hexadecimal groups only.
  const [head = [], tail = []] = new URL(`http://[${address}]`).hostname
    .slice(1, -1)
    .split('::')
    .map((part) => part.split(':').filter(Boolean));
  const zeros = Array<string>(8 - head.length - tail.length).fill('0');
  const network = [...head, ...zeros, ...tail].slice(0, 4).join(':');
  return `${network.replace(/(:0)+$/, '')}::/64`;
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return address.includes(':') ? 'ipv6' : 'ipv4';
}

/** True if listening on both hosts with one port collides. */
export function sameHost(a: string, b: string): boolean {
  return (
    a === b ||
    isWildcard(a) ||
    isWildcard(b) ||
    (isLoopback(a) && isLoopback(b) && (a === 'localhost' || b === 'localhost'))
  );
}

const isWildcard = (host: string): boolean => host === '0.0.0.0' || host === '::';

/**
 * The addresses that the service's documentation lists as its senders. Changes of the list are announced by its
 * support only, so a config can name further ones beside `published`.
 */
export const publishedAddresses: readonly string[] = [
  '4.175.48.171',
  '4.175.48.213',
  '4.175.49.130',
  '4.175.50.76',
  '4.175.51.5',
  '4.175.51.16',
  '4.245.121.140',
  '13.69.68.17',
  '13.80.176.152',
  '13.81.4.233',
  '20.160.242.176',
  '20.160.243.147',
  '20.160.244.172',
  '20.160.245.76',
  '20.160.245.185',
  '20.160.246.172',
  '40.113.105.232',
  '40.113.148.172',
  '51.136.37.178',
  '51.144.3.227',
  '104.40.219.254',
  '104.46.40.137',
  '104.214.230.42',
];
