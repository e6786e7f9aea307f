import type { Json } from '../../src/model.ts';
import { escapeText, isLiteral, isMarkdown, unescapeMarkdown } from './escape.ts';
import { shorten } from './shorten.ts';

export type Block = { readonly [key: string]: Json };
type Path = readonly (string | number)[];

/** What Slack takes in one message. */
const maxBlocks = 50;

/**
 * Slack refuses a whole message for one text that is too long. The limits by where a text stands; names as in
 * Slack's reference of Block Kit.
 */
const limits: readonly { readonly type?: string; readonly key?: string; readonly maxLength: number }[] = [
  { type: 'header', maxLength: 150 },
  { type: 'button', maxLength: 75 },
  { type: 'markdown', maxLength: 12_000 },
  { key: 'fields', maxLength: 2000 },
  { key: 'title', maxLength: 2000 },
];
const otherwiseMaxLength = 3000;

export interface FittedBlocks {
  readonly blocks: readonly Block[];
  readonly shortened: boolean;
}

/** Blocks that Slack takes: texts within their limits, and no more blocks than it shows. */
export function fitBlocks(blocks: readonly Block[]): FittedBlocks {
  let shortened = false;
  const kept = blocks.length > maxBlocks ? [...blocks.slice(0, maxBlocks - 1), leftOut(blocks)] : blocks;
  const fitted = mapTexts(kept, (text, maxLength) => {
    const short = shorten(text, maxLength);
    shortened ||= short !== text;
    return short;
  });
  return { blocks: fitted as readonly Block[], shortened: shortened || kept !== blocks };
}

function leftOut(blocks: readonly Block[]): Block {
  const text = `… (shortened: ${blocks.length - maxBlocks + 1} more blocks)`;
  return { type: 'context', elements: [{ type: 'plain_text', text }] };
}

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
  if (Array.isArray(tree)) {
    return (tree as readonly Json[]).map((item, index) => mapTexts(item, change, [...path, index], types));
  }
  if (typeof tree !== 'object' || tree === null) return tree;
  const object = tree as Block;
  const inside = typeof object['type'] === 'string' ? [...types, object['type']] : types;
  const entries = Object.entries(object).map(([key, value]) => [
    key,
    key === 'text' && typeof value === 'string'
      ? change(value, maxLengthAt(path, inside), [...path, key])
      : mapTexts(value, change, [...path, key], inside),
  ]);
  return Object.fromEntries(entries) as Block;
}

function maxLengthAt(path: Path, types: readonly string[]): number {
  const limit = limits.find(({ type, key }) =>
    type === undefined ? path.includes(key!) : types.includes(type),
  );
  return limit?.maxLength ?? otherwiseMaxLength;
}
