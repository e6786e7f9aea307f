import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { mapLeaves } from '../../src/connector.ts';
import { isMap, type Json } from '../../src/model.ts';
import { escapeText, isLiteral, isMarkdown, unescapeMarkdown } from './escape.ts';

/** What Slack takes of blocks: it refuses a whole message for one that is empty, too long or too many. */

export type Block = { readonly [key: string]: Json };

/** Slack refuses a message with longer ones: https://docs.slack.dev/reference/block-kit/blocks */
const longestLists = [
  { type: 'section', key: 'fields', most: 10 },
  { type: 'context', key: 'elements', most: 10 },
  { type: 'actions', key: 'elements', most: 25 },
];

export const anyBlock = z
  .record(z.string(), z.json())
  .refine((value) => typeof value['type'] === 'string', { error: 'a block has a type, such as section' })
  .superRefine((value, context) => {
    for (const { type, key, most } of longestLists) {
      const list = value[key];
      if (value['type'] === type && Array.isArray(list) && list.length > most)
        context.addIssue({ code: 'custom', path: [key], message: `Slack takes at most ${most} ${key} here` });
    }
  });

/** The note of a message that was cut. */
export const shortened = 'The message was too long for Slack and was shortened.';

/** Of these blocks what Slack takes, undefined if that is nothing, and notes of what it does not. */
export function takenOf(given: readonly Block[]): {
  readonly blocks: readonly Block[] | undefined;
  readonly notes: readonly string[];
} {
  const addressed = withAddresses(given, isAddress);
  const written = continued(addressed.map(withFilledCells));
  const full = withoutEmpty(written) as readonly Block[] | undefined;
  const firstTable = full?.findIndex(isTable);
  const filled = full?.filter((block, index) => !isTable(block) || index === firstTable);
  const blocks = filled && fitBlocks(filled);
  const isShorter =
    filled && blocks && (blocks.length < filled.length || lengthOf(blocks) < lengthOf(filled));
  const notes = [
    isShorter && shortened,
    filled?.length !== full?.length && 'Slack takes one table in a message: the others were left out.',
    !isDeepStrictEqual(addressed, given) &&
      'Slack takes no address without https:// and a host, or of more than 3,000 characters.',
    !isDeepStrictEqual(full, written) && 'Blocks without a text or an address were left out.',
  ];
  return { blocks, notes: notes.filter((note) => typeof note === 'string') };
}

type Path = readonly (string | number)[];

/** The number of blocks of a message. */
const maxBlocks = 50;

/**
 * Slack refuses a whole message for one text that is too long. The limits by block type, or by the key that a text is
 * in; names as in Slack's reference of Block Kit.
 */
const limits: readonly { readonly type?: string; readonly key?: string; readonly maxLength: number }[] = [
  { type: 'header', maxLength: 150 },
  { type: 'button', maxLength: 75 },
  { type: 'markdown', maxLength: 12_000 },
  { key: 'fields', maxLength: 2000 },
  { key: 'title', maxLength: 2000 },
];
const defaultMaxLength = 3000;

/**
 * The size of all blocks together. Slack does not document its limit (`msg_blocks_too_long`): it is about 13,300 characters,
 * and each block counts for some more than its texts (slackapi/bolt-js#2509, #2867).
 */
const maxTotalSize = 13_000;
const maxBlockLength = 12_000;

const isTable = ({ type }: Block): boolean => type === 'table' || type === 'data_table';
const isMarkdownBlock = ({ type }: Block): boolean => type === 'markdown';

/** The length of the texts that all blocks of a kind have together, as Slack's reference of these blocks says. */
const sharedLimits: readonly { readonly isOf: (block: Block) => boolean; readonly maxLength: number }[] = [
  { isOf: isTable, maxLength: 10_000 },
  { isOf: isMarkdownBlock, maxLength: 12_000 },
];

/** What a block takes of the size of all together, besides its texts. */
const extraOf = ({ type }: Block): number => (type === 'header' || type === 'divider' ? 135 : 75);

/** A section whose text is too long goes on in others, from line to line, while the message has room. Code stays whole. */
function continued(blocks: readonly Block[]): readonly Block[] {
  const size = (block: Block) => lengthOf(mapTexts(block, shorten)) + extraOf(block);
  const left = blocks.reduce((room, block) => room - size(block), maxTotalSize);
  let more = Math.min(maxBlocks - blocks.length, Math.floor(left / (defaultMaxLength + 75)));
  return blocks.flatMap((block) => {
    const { type, text, expand: _, ...others } = block;
    const whole = isMap(text) ? text['text'] : null;
    if (type !== 'section' || typeof whole !== 'string' || Object.keys(others).length > 0) return [block];
    const parts = [whole];
    for (; more > 0; more -= 1) {
      const rest = parts.at(-1)!;
      const end = rest.lastIndexOf('\n', defaultMaxLength);
      if (rest.length <= defaultMaxLength || end < 1 || rest.includes('```')) break;
      parts.splice(-1, 1, rest.slice(0, end), rest.slice(end + 1));
    }
    const withText = (part: string): Block => ({ ...block, text: { ...(text as Block), text: part } });
    return parts.map(withText);
  });
}

/** Blocks that Slack takes: texts within their limits, and no more blocks than fit into a message. */
function fitBlocks(blocks: readonly Block[]): readonly Block[] {
  const shortenTo = (block: Block, maxLength: number): Block =>
    mapTexts(block, (text) => shorten(text, maxLength)) as Block;
  const within = blocks.map((block) => {
    const short = mapTexts(block, shorten) as Block;
    return shortenTo(short, longestOf([short], maxBlockLength));
  });
  const short = sharedLimits.reduce((all, { isOf, maxLength }) => {
    const longest = longestOf(all.filter(isOf), maxLength);
    return all.map((block) => (isOf(block) ? shortenTo(block, longest) : block));
  }, within);
  let total = 0;
  const tooMuch = short.findIndex((block) => {
    total += lengthOf(block) + extraOf(block);
    return total > maxTotalSize;
  });
  const fit = Math.min(tooMuch === -1 ? short.length : tooMuch, maxBlocks);
  if (fit === short.length) return short;
  const kept = Math.max(1, Math.min(fit, maxBlocks - 1));
  const text = `… (shortened: ${short.length - kept} more blocks)`;
  return [...short.slice(0, kept), { type: 'context', elements: [{ type: 'plain_text', text }] }];
}

/** How long each text may be, so that all have `room`: what is shorter than its share leaves the rest to others. */
function longestOf(blocks: readonly Block[], room: number): number {
  const lengths = blocks.flatMap((block) => textsOf(block).map((text) => text.length));
  let left = room;
  for (const [index, length] of lengths.toSorted((a, b) => a - b).entries()) {
    const share = Math.floor(left / (lengths.length - index));
    if (length > share) return Math.max(1, share);
    left -= length;
  }
  return Infinity;
}

function textsOf(tree: Json): string[] {
  const texts: string[] = [];
  mapTexts(tree, (text) => {
    texts.push(text);
    return text;
  });
  return texts;
}

const lengthOf = (tree: Json): number => textsOf(tree).reduce((total, text) => total + text.length, 0);

/** A table keeps its cells, or the columns would shift. Slack takes no empty one. */
const tableRows = 'rows';
const emptyCell: Block = { type: 'raw_text', text: ' ' };

function withFilledCells(block: Block): Block {
  const rows = block[tableRows];
  if (!Array.isArray(rows)) return block;
  const filled = (cell: Json): Json =>
    isMap(cell) && isBlank(cell['text']) ? emptyCell : (withoutEmpty(cell) ?? emptyCell);
  return { ...block, [tableRows]: rows.map((row) => (Array.isArray(row) ? row.map(filled) : row)) };
}

const textTypes = new Set<Json | undefined>(['plain_text', 'mrkdwn', 'text', 'markdown']);
/** Keys without which what they belong to is nothing. */
const neededKeys = ['text', 'elements', 'options'];
/** Of buttons, links and images. */
const addressKeys = ['url', 'image_url'];
const maxAddressLength = 3000;

/** Whether Slack takes a text as an address. For another one it refuses the whole message; an empty one is left out as such. */
const isAddress = (text: string): boolean =>
  isBlank(text) || (URL.canParse(text) && text.length <= maxAddressLength);

const isBlank = (value: Json | undefined): boolean => typeof value === 'string' && value.trim() === '';

/** Without the empty texts and addresses, for which Slack would refuse the whole message, and what is nothing then. */
function withoutEmpty(tree: Json): Json | undefined {
  if (Array.isArray(tree)) {
    const kept = (tree as readonly Json[]).map(withoutEmpty).filter((item) => item !== undefined);
    return kept.length === 0 && tree.length > 0 ? undefined : kept;
  }
  if (typeof tree !== 'object' || tree === null) return tree;
  const object = tree as Block;
  if (textTypes.has(object['type']) && isBlank(object['text'])) return undefined;
  if (addressKeys.some((key) => isBlank(object[key]))) return undefined;
  const entries = Object.entries(tree).map(
    ([key, value]) => [key, key === tableRows ? value : withoutEmpty(value)] as const,
  );
  const kept = Object.fromEntries(entries.filter(([, value]) => value !== undefined)) as Block;
  const lost = neededKeys.some((key) => key in tree && !(key in kept));
  return lost && !('fields' in kept) ? undefined : kept;
}

/** Blocks in which other addresses than these are empty. */
const withAddresses = (blocks: readonly Block[], isTaken: (address: string, key: string) => boolean) =>
  mapLeaves(blocks, (leaf, path) => {
    const key = String(path().at(-1));
    return addressKeys.includes(key) && !isTaken(String(leaf), key) ? '' : (leaf as Json);
  }) as readonly Block[];

/** Blocks without the images that have an address, and without what is nothing then; undefined if nothing is left. */
export const withoutImages = (blocks: readonly Block[]): readonly Block[] | undefined =>
  withoutEmpty(withAddresses(blocks, (_, key) => key !== 'image_url')) as readonly Block[] | undefined;

/** The words of blocks as one line of mrkdwn, for notifications and screen readers. */
export function wordsOf(blocks: readonly Block[]): string {
  const words: string[] = [];
  mapTexts(blocks, (text, _maxLength, path) => {
    const plain = isMarkdown(path) ? unescapeMarkdown(text) : text;
    words.push(isLiteral(path) ? escapeText(plain) : plain);
    return text;
  });
  return words.join(' ').replace(/\s+/g, ' ').trim();
}

type ChangeText = (text: string, maxLength: number, path: Path) => string;

function mapTexts(tree: Json, change: ChangeText, path: Path = [], types: readonly string[] = []): Json {
  if (Array.isArray(tree))
    return (tree as readonly Json[]).map((item, index) => mapTexts(item, change, [...path, index], types));
  if (typeof tree !== 'object' || tree === null) return tree;
  const object = tree as Block;
  const inside = typeof object['type'] === 'string' ? [...types, object['type']] : types;
  const limit = limits.find(({ type, key }) =>
    type === undefined ? path.includes(key!) : inside.includes(type),
  );
  const entries = Object.entries(object).map(([key, value]) => [
    key,
    key === 'text' && typeof value === 'string'
      ? change(value, limit?.maxLength ?? defaultMaxLength, [...path, key])
      : mapTexts(value, change, [...path, key], inside),
  ]);
  return Object.fromEntries(entries) as Block;
}

/** What must not be cut in two, by its first character. A reference may have entities in it. */
const units: readonly (readonly [opening: string, unit: RegExp])[] = [
  ['<', /^<(?:[@#!]|https?:|mailto:)[^<>]*>/],
  ['&', /^&(?:amp|lt|gt);/],
];

/** Cuts a text that is too long, with a notice at its end. Counts UTF-16 units. */
export function shorten(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  const notice = maxLength < 300 ? '…' : '\n… (shortened)';
  let end = maxLength - notice.length;
  for (const [opening, unit] of units) {
    const start = text.lastIndexOf(opening, end - 1);
    const found = start === -1 ? null : unit.exec(text.slice(start));
    if (found && start + found[0].length > end) return text.slice(0, start) + notice;
  }
  if (text.codePointAt(end - 1)! > 0xffff) end -= 1;
  return text.slice(0, end) + notice;
}
