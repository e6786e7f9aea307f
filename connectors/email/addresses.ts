import { domainToASCII } from 'node:url';
import { filler, oneLine, slot } from '../../src/connector.ts';
import type { Audience, Outline, Place, Slip } from '../../src/connector.ts';

/** A mailbox as nodemailer takes it: the bare address, or with a display name. */
export type Address = string | { readonly name: string; readonly address: string };

export interface Parsed {
  readonly addresses: readonly Address[];
  /** The entries that have no valid address, as written. */
  readonly invalid: readonly string[];
}

/** Reads `a@x.example, "Team, Hiring" <b@y.example>`, or a list of such texts. Domains become ASCII in lower case. */
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

/** Finds entries that cannot be addresses, whatever templates give. */
export function addressSlips(text: string): Slip[] {
  let from = 0;
  return splitList(text).flatMap((entry) => {
    const index = Math.max(0, text.indexOf(entry, from));
    from = index + entry.length;
    if (entry.includes(slot) || parseAddress(entry) !== null) return [];
    const [before] = /[^\s,;]+(?=[,;]$)/.exec(text.slice(0, index)) ?? [];
    const dotted = before === undefined ? entry : `${before}.${entry}`;
    const hint = parseAddress(dotted) === null ? '' : `; did you mean "${dotted}"?`;
    return [{ index, length: entry.length, message: `"${entry}" is no email address${hint}`, isError: true }];
  });
}

/** Those who get a mail. An entry that is no address is kept as written: it may have a template that only an event fills in. */
export function audienceOf(lists: readonly string[]): Audience {
  const { addresses, invalid } = parseAddresses(lists);
  const recipients = [...new Set(addresses.map((one) => bare(one).toLowerCase()))];
  const members = [...new Set([...recipients, ...invalid])];
  return { place: members.join(', '), members, places: recipients.map((id) => ({ id })) };
}

/** A recipient as a policy names one. */
export function recipientNamed(text: string): Place | { readonly fault: string } {
  const { members, places } = audienceOf([text]);
  const [place] = places;
  return place && members.length === 1 ? place : { fault: 'expected one email address' };
}

const quoted = /"[^"\\]*(?:\\.[^"\\]*)*"/su;

/** The entries of a list. A comma or semicolon ends an entry, except in quotes or angle brackets. */
function splitList(list: string): string[] {
  const text = oneLine(list);
  const closed = new RegExp(quoted, 'suy');
  const lastBracket = text.lastIndexOf('>');
  // After quotes or a bracket that are never closed, no later one is searched for its end: the time would grow with the
  // square of the length.
  let quotesClose = true;
  const parts: string[] = [];
  let start = 0;
  for (let at = 0; at < text.length;) {
    const sign = text[at];
    let end = at + 1;
    if (sign === '<' && at < lastBracket) end = text.indexOf('>', at) + 1;
    if (sign === '"' && quotesClose) {
      closed.lastIndex = at;
      quotesClose = closed.test(text);
      if (quotesClose) end = closed.lastIndex;
    }
    if (sign === ',' || sign === ';') {
      parts.push(text.slice(start, at));
      start = end;
    }
    at = end;
  }
  return [...parts, text.slice(start)].map((part) => part.trim()).filter((part) => part !== '');
}

const named = new RegExp(`^(?:(${quoted.source})\\s*|([^"<>]*))<([^<>]*)>$`, 'su');

/** An entry's display name, and its address as written. */
function readEntry(text: string): { readonly name: string; readonly written: string } {
  const [, inQuotes, plainName, inBrackets] = named.exec(text) ?? [];
  const name = inQuotes?.slice(1, -1).replace(/\\(.)/gsu, '$1') ?? plainName ?? '';
  return { name: name.trim(), written: (inBrackets ?? text).trim() };
}

function parseAddress(text: string): Address | null {
  const { name, written } = readEntry(text);
  const address = normalized(written);
  if (address === null) return null;
  return name === '' ? address : { name, address };
}

/**
 * The list that a template makes. A value that is a whole entry may be one address or several. A value within a longer
 * entry is part of the name or of the address, whatever characters it has.
 */
export function joinList({ text, values }: Outline): string {
  const fill = filler(values);
  return splitList(text)
    .map((entry) => {
      if (entry === slot || !entry.includes(slot)) return fill(entry);
      const { name: given, written } = readEntry(entry);
      const [name, address] = [fill(given), fill(written)];
      // Without a valid address the entry is quoted, so that it is read as one entry and refused as a whole.
      if (normalized(address.trim()) === null) return inQuotes(`${name} ${address}`.trim());
      if (name === '') return address;
      return `${/[",;<>\\]/.test(name) ? inQuotes(name) : name} <${address}>`;
    })
    .join(', ');
}

const inQuotes = (text: string): string => `"${text.replace(/["\\]/g, '\\$&')}"`;

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
