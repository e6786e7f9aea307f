import { domainToASCII } from 'node:url';
import { oneLine } from '../../src/connector.ts';

/** A mailbox as nodemailer takes it: the bare address, or with a display name. */
export type Address = string | { readonly name: string; readonly address: string };

export interface Parsed {
  readonly addresses: readonly Address[];
  /** The parts that are no address, as they were written. */
  readonly invalid: readonly string[];
}

/** Reads `a@x.example, "Team, Hiring" <b@y.example>`, or a list of such. Domains come out in lower case ASCII. */
export function parseAddresses(input: string | readonly string[]): Parsed {
  const addresses: Address[] = [];
  const invalid: string[] = [];
  for (const part of [input].flat().flatMap(splitList)) {
    const address = parseAddress(part);
    if (address === null) invalid.push(part);
    else addresses.push(address);
  }
  return { addresses, invalid };
}

export const bare = (address: Address): string => (typeof address === 'string' ? address : address.address);

export const domainOf = (address: Address): string => bare(address).slice(bare(address).lastIndexOf('@') + 1);

const quoted = /"(?:[^"\\]|\\.)*"/;
/** A comma or semicolon that is neither in quotes nor in angle brackets ends an address. */
const part = new RegExp(`(?:${quoted.source}|<[^>]*>|[^,;"<]|["<])+`, 'gsu');

function splitList(list: string): string[] {
  const parts = oneLine(list).match(part) ?? [];
  return parts.map((text) => text.trim()).filter((text) => text !== '');
}

const named = new RegExp(`^(?:(${quoted.source})\\s*|([^"<>]*))<([^<>]*)>$`, 'su');

function parseAddress(text: string): Address | null {
  const [, inQuotes, plainName, inBrackets] = named.exec(text) ?? [];
  const address = normalized((inBrackets ?? text).trim());
  if (address === null) return null;
  const name = (inQuotes?.slice(1, -1).replace(/\\(.)/gsu, '$1') ?? plainName ?? '').trim();
  return name === '' ? address : { name, address };
}

const localPart = /^[^\s@<>()[\]\\,;:"\p{Cc}]{1,64}$/u;
const domainName = /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]{0,62})(\.[a-z0-9_]([a-z0-9_-]{0,62}))*$/;

function normalized(address: string): string | null {
  const at = address.lastIndexOf('@');
  const local = address.slice(0, at);
  const written = address.slice(at + 1).toLowerCase();
  // Only names that need it are converted: domainToASCII also takes "127.1" for an IP address.
  const domain = /^\p{ASCII}*$/u.test(written) ? written : domainToASCII(written);
  return at > 0 && localPart.test(local) && domainName.test(domain) ? `${local}@${domain}` : null;
}
