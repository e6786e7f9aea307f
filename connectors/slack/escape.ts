import { filler, slipsBy, slot, tagOfHtml, visible, writtenLineBreak } from '../../src/connector.ts';
import type { Escape, Medium, Outline, Slip } from '../../src/connector.ts';

type Path = Parameters<Escape>[1];

const entities: { readonly [character: string]: string } = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

/**
 * Slack's three control characters as entities, so that `<!channel>` pings nobody and `<https://…|here>` is no link.
 * `*`, `_`, `~` and backticks stay: mrkdwn has no escape for them, and they can only change the look.
 */
export function escapeText(value: string): string {
  return value.replace(/[&<>]/g, (character) => entities[character]!);
}

/** Escapes a value that a template prints, and makes invisible characters visible. */
export const escapeValue = (value: string): string => escapeText(visible(value));

/** Matches the address of a reference in the template: the part of `<https://…|text>` before the `|`. */
const address = new RegExp(`(<[\\w@#!${slot}][^<>|\\n]*(?=[|>]))`);

/** Fills in the values. Within a reference of the template, none ends the address or turns a link into a mention. */
export function joinText({ text, values }: Outline): string {
  const fill = filler(values);
  const stretches = text.split(address).map((stretch, index) => {
    if (index % 2 === 0) return fill(stretch);
    const filled = fill(stretch, encodeInAddress);
    return stretch.startsWith(`<${slot}`)
      ? filled.replace(/^<[@#!]/, (begin) => `<${percent(begin[1]!)}`)
      : filled;
  });
  return stretches.join('');
}

const encodeInAddress = (value: string): string =>
  value.replace(/&lt;|&gt;|[|"()\\`\s]/g, (sign) => percent(unescaped[sign] ?? sign));

const unescaped: { readonly [entity: string]: string } = { '&lt;': '<', '&gt;': '>' };

function percent(sign: string): string {
  const bytes = [...Buffer.from(sign)];
  return bytes.map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join('');
}

/** The parts of a `markdown` block, which is standard Markdown, where no value is plain text: code, and addresses with titles. */
const title = `(?:\\s+(?:"[^"]*"|'[^']*'|\\([^()]*\\))\\s*)?`;
const codeOrAddress = new RegExp(`(\`+[^\`]*\`+|\\]\\([^()\\s]*${title}\\)|<[^<>\\s]*>)`);

/** Escapes the signs that would begin a link, an image, code or a table's cell. `<` and `&` are entities already. */
const escapeMarkdown = (value: string): string => value.replace(/[\\`*_~[\]|]/g, '\\$&');
/** Undoes these escapes, for places that would show them. */
export const unescapeMarkdown = (text: string): string => text.replace(/\\([\\`*_~[\]|"'()])/g, '$1');
/**
 * Within blocks only the `text` strings of text objects know entities; a url, a value or an id would show them.
 * So would the literal text of rich text (elements within elements) and of a table's cells (rows).
 */
export const inBlocks: Medium = {
  escape(value, path) {
    if (path.at(-1) !== 'text') return value;
    return isMarkup(path) ? escapeValue(value) : visible(value);
  },
  join(outline, path) {
    if (!isMarkup(path)) return filler(outline.values)(outline.text);
    if (!isMarkdown(path)) return joinText(outline);
    const fill = filler(outline.values);
    const stretches = outline.text.split(codeOrAddress).map((stretch, index) => {
      if (index % 2 === 0) return fill(stretch, escapeMarkdown);
      if (stretch.startsWith('`')) return fill(stretch, (value) => value.replaceAll('`', "'"));
      const [, target = '', rest = ''] = /^(\S*)(.*)$/s.exec(stretch) ?? [];
      // A title ends with the quote or bracket that it begins with.
      const inTitle = (value: string) => escapeMarkdown(value).replace(/["'()]/g, '\\$&');
      return fill(target, encodeInAddress) + fill(rest, inTitle);
    });
    return stretches.join('');
  },
  slips(text, path, { blocks }) {
    const at = (steps: Path) => Object(steps.reduce<unknown>((inner, step) => Object(inner)[step], blocks));
    const [object, around] = [at(path.slice(0, -1)), at(path.slice(0, -2))];
    const whole = (message: string): Slip[] => [{ index: 0, length: text.length, message }];
    if (path.at(-1) === 'image_url' && object.alt_text === undefined)
      return whole('Slack refuses an image without alt_text, which says what is to be seen on it');
    if (needsTextObject(path, object.type, around.type)) {
      const type = plainTexts.has(object.type) ? 'plain_text' : 'mrkdwn';
      return whole(`Slack refuses bare text here: write { type: ${type}, text: … }`);
    }
    if (text === 'markdown' && path.at(-1) === 'type' && around.type === 'section')
      return whole('Slack refuses this type of text here: write mrkdwn');
    if (path.at(-1) !== 'text' || object.type !== 'mrkdwn') return [];
    return path.at(-2) === 'text' && plainTexts.has(around.type)
      ? whole(`Slack refuses this type of text in a ${around.type}: it has to be plain_text`)
      : mrkdwnSlips(text);
  },
};

/** What has a text without markup: https://docs.slack.dev/reference/block-kit/blocks */
const plainTexts = new Set<unknown>(['header', 'button']);

/** Whether a text at this path would have to be an object. `holder`: the type of what holds it; `block`: that of what a list is of. */
function needsTextObject(path: Path, holder: unknown, block: unknown): boolean {
  const [key, list] = [path.at(-1), path.at(-2)];
  if (key === 'text') return holder === 'section' || plainTexts.has(holder);
  return (list === 'fields' && block === 'section') || (list === 'elements' && block === 'context');
}

function isMarkup(path: Path): boolean {
  return path.at(-1) === 'text' && !isLiteral(path);
}

/** Whether a text is that of a `markdown` block. The text of any other block is an object, which says how it is read. */
export const isMarkdown = (path: Path): boolean => path.length === 2;

/** Whether the text at this path within `blocks` is shown as it is, without markup or entities. */
export function isLiteral(path: Path): boolean {
  return path.includes('rows') || path.filter((step) => step === 'elements').length > 1;
}

const mentionOfPerson =
  'this notifies nobody: a mention of a person is <@U…>, with the member id from the profile';

/** Markup of others that Slack's mrkdwn shows as it stands, and mentions of nobody. */
export const mrkdwnSlips = slipsBy([
  writtenLineBreak,
  {
    pattern: tagOfHtml,
    message: 'Slack shows tags as they stand: bold is *bold*, and a new line begins where the text has one',
  },
  {
    pattern: /\*\*(?=\S)[^*\n]+\*\*/g,
    message: 'Slack shows the asterisks: bold has one on each side, as in *bold*',
  },
  {
    pattern: new RegExp(`\\[[^\\[\\]\\n]+\\]\\((?:https?:|mailto:|${slot})[^()\\s]*\\)`, 'g'),
    message: 'Slack shows the brackets: a link is <https://example.com|text>',
  },
  {
    pattern: /(?<![\w.@!-])@(?:here|channel|everyone)\b(?![.@-]\w)/g,
    message: 'this notifies nobody: a mention is <!here>, <!channel> or <!everyone>',
  },
  {
    pattern: /(?<![\w.@<!/-])@(?!(?:here|channel|everyone)\b)[a-z][\w.-]*\b(?![@/])/gi,
    message: mentionOfPerson,
  },
  {
    pattern: new RegExp(`<@(?!(?:here|channel|everyone)\\b|[A-Z0-9]+[|>])[^<>|\\n${slot}]+(?=[|>])`, 'g'),
    message: mentionOfPerson,
  },
]);

/** A channel's name, however it is written: `#hiring` and `hiring` are the same. */
export const channelName = (channel: string): string => channel.trim().replace(/^#/, '');

/** Finds names by which Slack finds no place. Ids and addresses are left alone. */
export function channelSlips(text: string): Slip[] {
  const name = text.trim().replace(/^#/, '');
  const slip = (message: string): Slip[] => [{ index: 0, length: text.length, message }];
  if (/^https?:|^<#/.test(name))
    return slip('Slack finds no channel by its link: write its name, or the id in the link (C…)');
  if (/[,;]|\s#/.test(name)) return slip('one action posts to one place: write an action for each');
  if (/^<?@/.test(name))
    return slip('Slack finds nobody by such a name: write the id of the person (U…) or the email address');
  const isId = /^[A-Z][A-Z0-9]{2,}$/.test(name);
  // Such quotes are told of wherever they stand.
  const isQuoted = /^[“”„‘’‚]/.test(name);
  if (isId || isQuoted || name.includes(slot) || name.includes('@')) return [];
  const hasOther = /[^\p{L}\p{M}\p{N}\s_-]/u.test(name);
  if (!hasOther && !/[ \t]|\p{Lu}/u.test(name)) return [];
  const meant = (name.toLowerCase().match(/[\p{L}\p{M}\p{N}_-]+/gu) ?? []).join('-');
  const rule = hasOther ? 'have only letters, digits, - and _' : 'have no capitals and no spaces';
  return slip(`names of channels ${rule}${meant && `; did you mean "#${meant}"?`}`);
}
