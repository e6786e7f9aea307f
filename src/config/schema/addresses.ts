import { isIPv4 } from 'node:net';
import { z } from 'zod';
import { parseRange } from '../../addresses.ts';
import { publishedAddresses } from '../published.ts';

const addressExpected = 'an address such as 203.0.113.7, or a CIDR such as 10.0.0.0/8';

/** True for an IPv4 or IPv6 address, and for a CIDR. */
const isAddress = (text: string): boolean => parseRange(text) !== null;

const senderExpected = `expected published, ${addressExpected}`;
const sendersExpected = 'expected published, any, or addresses and CIDRs as a list or with commas';
const proxiesExpected =
  'expected how many proxies stand in front (0, 1, 2 …), or their addresses and CIDRs as a list or with commas';

const isSender = (text: string): boolean => text === 'published' || isAddress(text);
const split = (text: string): string[] => text.split(',').map((part) => part.trim());

/** Addresses in one text with commas, which is how a variable can hold several. */
const together = (isOne: (text: string) => boolean, expected: string, words: readonly string[] = []) =>
  z
    .string()
    .superRefine((text, context) => {
      if (!split(text).every(isOne))
        context.addIssue({ code: 'custom', message: expected, params: { candidates: words } });
    })
    .transform(split);

const listed = (isOne: (text: string) => boolean, expected: string) =>
  z.array(z.string({ error: expected }).refine(isOne, { error: expected })).min(1);

/** Who may call: 'any', or addresses and CIDRs with `published` expanded. */
export const allowFrom = z
  .union(
    [
      z.enum(['published', 'any']),
      together(isSender, sendersExpected, ['published', 'any']),
      listed(isSender, senderExpected),
    ],
    { error: sendersExpected },
  )
  .transform((value): 'any' | readonly string[] => {
    if (value === 'any') return value;
    const senders = value === 'published' ? [value] : value;
    return senders.flatMap((text) => (text === 'published' ? publishedAddresses : [text]));
  });

/** The proxies in front: how many, or their addresses. */
export const trustProxy = z.union(
  [
    z.int().min(0).max(16),
    together(isAddress, proxiesExpected),
    listed(isAddress, `expected ${addressExpected}`),
  ],
  { error: proxiesExpected },
);

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
