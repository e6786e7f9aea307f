import { SlackRefusal } from './refusal.ts';

const maxBlocks = 50;
const textObjects = new Set(['plain_text', 'mrkdwn']);

/** Refuses blocks that Slack refuses: too many, of no type, or with a text that is empty or too long. */
export function checkBlocks(blocks: readonly unknown[]): void {
  if (blocks.length > maxBlocks) refuse(`no more than ${maxBlocks} items allowed`, '/blocks');
  blocks.forEach((block, index) => {
    const { type } = block as { type?: unknown };
    if (typeof type !== 'string') refuse('missing required field: type', `/blocks/${index}`);
    checkTexts(block, `/blocks/${index}`, [type]);
  });
}

function checkTexts(tree: unknown, pointer: string, within: readonly string[]): void {
  if (typeof tree !== 'object' || tree === null) return;
  const { type, text } = tree as { type?: unknown; text?: unknown };
  if (typeof text === 'string' && textObjects.has(String(type))) checkText(text, pointer, within);
  for (const [key, value] of Object.entries(tree)) {
    checkTexts(value, `${pointer}/${key}`, [...within, key, ...(typeof type === 'string' ? [type] : [])]);
  }
}

function checkText(text: string, pointer: string, within: readonly string[]): void {
  const maxLength = maxLengthOf(within);
  if (text === '') refuse('must be more than 0 characters', `${pointer}/text`);
  if (text.length > maxLength) refuse(`must be less than ${maxLength + 1} characters`, `${pointer}/text`);
}

function maxLengthOf(within: readonly string[]): number {
  if (within.includes('header')) return 150;
  if (within.includes('button')) return 75;
  return within.includes('fields') ? 2000 : 3000;
}

function refuse(what: string, pointer: string): never {
  const messages = [`[ERROR] ${what} [json-pointer:${pointer}]`];
  throw new SlackRefusal('invalid_blocks', { errors: messages, response_metadata: { messages } });
}
