import { isIP, isIPv4 } from 'node:net';
import { z } from 'zod';
import { publishedAddresses } from './published.ts';

const addressExpected = 'an address such as 203.0.113.7, or a CIDR such as 10.0.0.0/8';

/** True for an IPv4 or IPv6 address, and for a CIDR. */
export function isAddress(text: string): boolean {
  const [address = '', bits, ...more] = text.split('/');
  if (isIP(address) === 0 || address.includes('%') || more.length > 0) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (isIPv4(address) ? 32 : 128));
}

const address = z
  .string({ error: `expected ${addressExpected}` })
  .refine(isAddress, { error: `expected ${addressExpected}` });

const sender = z.string().refine((text) => text === 'published' || isAddress(text), {
  error: `expected published, ${addressExpected}`,
});

/** Who may call: 'any', or addresses and CIDRs with `published` expanded. */
export const allowFrom = z
  .union([z.enum(['published', 'any']), z.array(sender).min(1)], {
    error: 'expected published, any, or a list of addresses and CIDRs',
  })
  .transform((value): 'any' | readonly string[] => {
    if (value === 'any') return value;
    const listed = value === 'published' ? [value] : value;
    return listed.flatMap((text) => (text === 'published' ? publishedAddresses : [text]));
  });

/** The proxies in front: how many, or their addresses. */
export const trustProxy = z.union([z.int().min(0).max(16), z.array(address).min(1)], {
  error: 'expected how many proxies stand in front (0, 1, 2 …), or a list of their addresses and CIDRs',
});

/** True for a host that only this machine can reach. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'));
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
