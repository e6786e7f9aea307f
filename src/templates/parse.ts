import { type LiquidError, Parser, type Template, Tokenizer, type TopLevelToken, TypeGuards } from 'liquidjs';
import { closest } from '../support/text.ts';
import { checking, disabledTags } from './engine.ts';
import { formatCount, maxCharacters, mostFaults, tooDeep } from './limits.ts';

/** A fault in a template. `offset`: where it starts in the text. */
export interface SyntaxFault {
  readonly offset: number;
  readonly message: string;
}

export interface ParseResult {
  readonly templates: readonly Template[];
  readonly faults: readonly SyntaxFault[];
  /** Whether all names are known: false if a tag that may define one could not be parsed. */
  readonly namesAreComplete: boolean;
}

/** Parses as LiquidJS does, but continues after a fault and keeps what could be parsed. */
export function parse(source: string): ParseResult {
  if (source.length > maxCharacters) {
    const message = `the template is longer than ${formatCount(maxCharacters)} characters`;
    return { templates: [], faults: [{ offset: maxCharacters, message }], namesAreComplete: false };
  }
  const parser = new Parser(checking);
  const templates: Template[] = [];
  const errors: LiquidError[] = [];
  const failed: TopLevelToken[] = [];
  let tokens: TopLevelToken[] = [];
  try {
    tokens = new Tokenizer(source).readTopLevelTokens(checking.options);
  } catch (error) {
    errors.push(error as LiquidError);
  }
  for (let token = tokens.shift(); token && errors.length < mostFaults; token = tokens.shift()) {
    try {
      templates.push(parser.parseToken(token, tokens));
    } catch (error) {
      errors.push(error as LiquidError);
      failed.push(token);
    }
  }
  // After a fault in an opening tag, LiquidJS cannot tell what its closing tag closes, nor how deep it is.
  const isConsequence = ({ message }: LiquidError) => blockPart.test(message) || tooManyCalls.test(message);
  const faults = errors.filter((error, index) => index === 0 || !isConsequence(error)).map(faultOf);
  const lacksTag = failed.some((token) => TypeGuards.isTagToken(token) && token.name in checking.tags);
  return { templates, faults, namesAreComplete: errors.length < mostFaults && !lacksTag };
}

const blockPart = /^tag "(end\w+|else|elsif|when)" not found/;
const tooManyCalls = /^Maximum call stack size/;

function faultOf(error: LiquidError): SyntaxFault {
  const { token } = error;
  const message = (error.originalError?.message ?? error.message).replace(/, line:\d+, col:\d+$/, '');
  for (const { pattern, words, back = 0 } of wordings) {
    const match = pattern.exec(message);
    if (!match) continue;
    const offset = Math.max(0, token.begin - back);
    const before = token.input.slice(0, offset);
    const isOutput = before.lastIndexOf('{{') > before.lastIndexOf('{%');
    return { offset, message: words(match, token.input.slice(offset, token.end), isOutput) };
  }
  return { offset: token.begin, message };
}

/** Our words for a message of LiquidJS. It has no error codes, so its sentences are matched. */
interface Wording {
  readonly pattern: RegExp;
  readonly words: (match: RegExpExecArray, text: string, isOutput: boolean) => string;
  /** How many characters LiquidJS has read past the fault. */
  readonly back?: number;
}

const wordings: readonly Wording[] = [
  { pattern: blockPart, words: ([, name]) => `\`{% ${name} %}\` does not belong to any open tag` },
  { pattern: /^tag "(.*)" not found/, words: ([, name = '']) => unknownTag(name) },
  { pattern: /^output .* not closed/, words: () => '`{{` is not closed; `}}` is missing' },
  { pattern: /^tag "\{%.* not closed/, words: () => '`{%` is not closed; `%}` is missing' },
  { pattern: /^raw .* not closed/, words: () => '`{% raw %}` is not closed; `{% endraw %}` is missing' },
  {
    pattern: /^tag (\{%-?\s*(\w+)\b.*) not closed/s,
    words: ([, tag, name]) => `\`${tag}\` is not closed; \`{% end${name} %}\` is missing`,
  },
  { pattern: /^expected "\|" before filter/, words: (_, text) => unexpectedText(text), back: 1 },
  {
    pattern: /^expected filter name/,
    words: (_, text, isOutput) =>
      !text.startsWith('||')
        ? 'expected a filter after `|`'
        : `expected \`${isOutput ? '| default:' : 'or'}\` instead of \`||\``,
    back: 1,
  },
  { pattern: /^unexpected "if\b/, words: () => 'expected `elsif` instead of `else if`' },
  { pattern: tooManyCalls, words: () => tooDeep },
  {
    pattern: /^invalid range syntax/,
    words: () =>
      'brackets are only for a range such as `(1..5)`: write `{% if a and b %}`, or an `if` within an `if`',
  },
  {
    pattern: /^invalid value expression/,
    words: (_, text) =>
      /^[#/]/.test(text)
        ? 'expected a value; a tag is written as `{% if test.name %}…{% endif %}`'
        : 'expected a value',
  },
  { pattern: /^illegal tag/, words: (_, text) => `expected \`{% for entry in list %}\`, got \`${text}\`` },
];

function unknownTag(name: string): string {
  const reason = disabledTags.get(name);
  if (reason !== undefined) return `the tag \`${name}\` is not available here: ${reason}`;
  const meant = closest(name, [...Object.keys(checking.tags), 'elsif']);
  return `unknown tag \`${name}\`${meant === null ? '' : `, did you mean \`${meant}\`?`}`;
}

function unexpectedText(text: string): string {
  const rest = text.trim().split('\n', 1)[0] ?? '';
  if (/^=(?!=)/.test(rest)) return 'expected `==` to compare; a single `=` is only for `assign`';
  if (rest.startsWith('&&')) return 'expected `and` instead of `&&`';
  return `unexpected \`${rest}\`; expected \`|\` and a filter, or an operator such as \`==\``;
}
