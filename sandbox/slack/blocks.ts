import { SlackRefusal } from './refusal.ts';

/** Limits of https://docs.slack.dev/reference/block-kit/blocks, unless another source is named. */
const maxBlocks = 50;
const maxElements: { readonly [type: string]: number } = { actions: 25, context: 10 };
const maxFields = 10;
/**
 * The limit of all texts together; each block counts for some more. Slack does not document it. Measured: 13,297 in a
 * `markdown` block, 13,172 with a divider beside it (https://github.com/slackapi/bolt-js/issues/2509); 9,597 in 50 blocks
 * were taken, 11,341 in 45 refused (https://github.com/slackapi/bolt-js/issues/2867).
 */
const maxTotal = 13_297;
const sizeOfBlock: { readonly [type: string]: number } = { divider: 125, header: 125 };
const sizeOfOtherBlock = 74;
/**
 * https://docs.slack.dev/reference/block-kit/blocks/markdown-block: "The cumulative limit for all markdown blocks in a single
 * payload is 12,000 characters."
 */
const maxMarkdown = 12_000;
const maxAddress = 3000;
/** https://docs.slack.dev/reference/block-kit/blocks/table-block: "only one table per message", else invalid_attachments (only_one_table_allowed). */
const tables = new Set<unknown>(['table', 'data_table']);
/** The limit of all cells of a message together; a cell of `raw_text` may not be empty, a space will do (https://github.com/vercel/chat/pull/373). */
const maxCells = 10_000;
const maxRows = 100;
/** https://docs.slack.dev/reference/block-kit/composition-objects/text-object */
const sectionTexts = new Set<unknown>(['plain_text', 'mrkdwn']);
const textObjects = new Set(['plain_text', 'mrkdwn', 'text', 'markdown']);

/** Refuses blocks that Slack refuses: too many, of no type, or with a text that is missing, empty or too long. */
export function checkBlocks(blocks: readonly unknown[]): void {
  if (blocks.length > maxBlocks) refuse(`no more than ${maxBlocks} items allowed`, '/blocks');
  const total = blocks.reduce<number>(
    (sum, block, index) => sum + sizeOf(block as Block) + checkBlock(block as Block, `/blocks/${index}`),
    0,
  );
  if (blocks.filter((block) => tables.has((block as Block)['type'])).length > 1)
    throw new SlackRefusal('invalid_attachments', { errors: ['only_one_table_allowed'] });
  const cells = blocks.reduce<number>((sum, block) => sum + cellsOf((block as Block)['rows']), 0);
  if (cells > maxCells) refuse(`no more than ${maxCells} characters in tables allowed`, '/blocks');
  const markdown = blocks.filter((block) => (block as Block)['type'] === 'markdown');
  const markdownLength = markdown.reduce<number>(
    (sum, block) => sum + String((block as Block)['text']).length,
    0,
  );
  if (total > maxTotal || markdownLength > maxMarkdown) throw new SlackRefusal('msg_blocks_too_long');
}

/**
 * Refuses a message with an image that Slack cannot load, which happens now and then with good ones, too. Its words are quoted
 * in https://github.com/slackapi/python-slack-sdk/issues/1782.
 */
export function checkImages(tree: unknown, unloadable: ReadonlySet<string>, pointer = '/blocks'): void {
  if (typeof tree !== 'object' || tree === null) return;
  for (const [key, value] of Object.entries(tree)) {
    if (key === 'image_url' && unloadable.has(String(value)))
      refuse('downloading image failed', `${pointer}/${key}`);
    checkImages(value, unloadable, `${pointer}/${key}`);
  }
}

type Block = { readonly [key: string]: unknown };

const sizeOf = ({ type }: Block): number => sizeOfBlock[String(type)] ?? sizeOfOtherBlock;

/** Returns the length of its texts. */
function checkBlock(block: Block, pointer: string): number {
  const { type, elements, fields, rows } = block;
  if (typeof type !== 'string') refuse('missing required field: type', pointer);
  for (const key of requiredOf(block, type))
    if (block[key] === undefined) refuse(`missing required field: ${key}`, pointer);
  checkList(elements, maxElements[type] ?? Infinity, `${pointer}/elements`);
  checkList(fields, maxFields, `${pointer}/fields`);
  checkList(rows, maxRows, `${pointer}/rows`);
  if (type === 'section') {
    const texts = [block['text'] ?? [], fields ?? []].flat() as unknown[];
    if (!texts.every((text) => sectionTexts.has((text as Block)['type'])))
      refuse('must provide an object', pointer);
  }
  if (type === 'context' && (elements as unknown[]).some((element) => typeof element !== 'object'))
    refuse('must provide an object', `${pointer}/elements`);
  return checkTexts(block, pointer, [type]);
}

/** The length of the cells of a table. */
function cellsOf(tree: unknown): number {
  if (typeof tree !== 'object' || tree === null) return 0;
  const { type, text } = tree as Block;
  if (type === 'raw_text' && text === '') refuse('must be more than 0 characters', '/rows');
  const own = typeof text === 'string' ? text.length : 0;
  return Object.values(tree).reduce<number>((sum, value) => sum + cellsOf(value), own);
}

function requiredOf({ fields }: Block, type: string): readonly string[] {
  if (type === 'section') return fields === undefined ? ['text'] : [];
  if (type === 'header' || type === 'markdown') return ['text'];
  return type === 'actions' || type === 'context' || type === 'rich_text' ? ['elements'] : [];
}

function checkList(list: unknown, max: number, pointer: string): void {
  if (list === undefined) return;
  if (!Array.isArray(list) || list.length === 0) refuse('no fewer than 1 items allowed', pointer);
  if (list.length > max) refuse(`no more than ${max} items allowed`, pointer);
}

function checkTexts(tree: unknown, pointer: string, within: readonly string[]): number {
  if (typeof tree !== 'object' || tree === null) return 0;
  const { type, text } = tree as { type?: unknown; text?: unknown };
  let total = 0;
  if (typeof text === 'string' && textObjects.has(String(type))) {
    checkText(text, pointer, within);
    total += text.length;
  }
  if (type === 'button' && text === undefined) refuse('missing required field: text', pointer);
  // https://docs.slack.dev/reference/block-kit/blocks/image-block, header-block, and block-elements/button-element.
  if (type === 'image' && (tree as Block)['alt_text'] === undefined)
    refuse('missing required field: alt_text', pointer);
  if ((type === 'header' || type === 'button') && (text as Block)?.['type'] !== 'plain_text')
    refuse('must provide a plain_text object', `${pointer}/text`);
  // https://github.com/Netflix/dispatch/pull/4099, https://github.com/lightdash/lightdash/issues/18214
  for (const key of ['url', 'image_url']) {
    const address = (tree as Block)[key];
    if (address === '') refuse('must be more than 0 characters', `${pointer}/${key}`);
    if (typeof address === 'string' && address.length > maxAddress)
      refuse(`must be less than ${maxAddress + 1} characters`, `${pointer}/${key}`);
    // https://github.com/MacPaw/together-app/issues/4
    if (typeof address === 'string' && !URL.canParse(address)) refuse('invalid url', `${pointer}/${key}`);
  }
  for (const [key, value] of Object.entries(tree)) {
    const inside = [...within, key, ...(typeof type === 'string' ? [type] : [])];
    total += checkTexts(value, `${pointer}/${key}`, inside);
  }
  return total;
}

function checkText(text: string, pointer: string, within: readonly string[]): void {
  const maxLength = maxLengthOf(within);
  if (text.trim() === '') refuse('must be more than 0 characters', `${pointer}/text`);
  if (text.length > maxLength) refuse(`must be less than ${maxLength + 1} characters`, `${pointer}/text`);
}

function maxLengthOf(within: readonly string[]): number {
  if (within[0] === 'markdown') return maxMarkdown;
  if (within.includes('header')) return 150;
  if (within.includes('button')) return 75;
  return within.includes('fields') ? 2000 : 3000;
}

function refuse(what: string, pointer: string): never {
  const messages = [`[ERROR] ${what} [json-pointer:${pointer}]`];
  throw new SlackRefusal('invalid_blocks', { errors: messages, response_metadata: { messages } });
}
