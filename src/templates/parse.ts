import { Parser, Tokenizer, TypeGuards } from 'liquidjs';
import type { LiquidError, Template, TopLevelToken } from 'liquidjs';
import { closest } from '../suggest.ts';
import { checking, withheldTags } from './engine.ts';

/** A fault in a template, where it begins: an offset into its text. */
export interface Fault {
  readonly offset: number;
  readonly message: string;
}

export interface Parsed {
  readonly templates: readonly Template[];
  readonly faults: readonly Fault[];
  /** False where a name may be missing only because its tag could not be parsed. */
  readonly namesAreSound: boolean;
}

/** As LiquidJS's own parsing, which forgets what it could parse as soon as there is a fault. */
export function parse(source: string): Parsed {
  const parser = new Parser(checking);
  const templates: Template[] = [];
  const errors: LiquidError[] = [];
  const failed: TopLevelToken[] = [];
  const tokens = tokensOf(source, errors);
  for (let token = tokens.shift(); token; token = tokens.shift()) {
    try {
      templates.push(parser.parseToken(token, tokens));
    } catch (error) {
      errors.push(error as LiquidError);
      failed.push(token);
    }
  }
  const faults = errors.filter((error, index) => index === 0 || !isConsequence(error)).map(faultOf);
  return { templates, faults, namesAreSound: !failed.some(isKnownTag) };
}

function tokensOf(source: string, errors: LiquidError[]): TopLevelToken[] {
  try {
    return new Tokenizer(source).readTopLevelTokens(checking.options);
  } catch (error) {
    errors.push(error as LiquidError);
    return [];
  }
}

const isKnownTag = (token: TopLevelToken): boolean =>
  TypeGuards.isTagToken(token) && token.name in checking.tags;

const partsOfBlocks = /^tag "(end\w+|else|elsif|when)" not found/;

/** After a fault in an opening tag, LiquidJS does not know what its closing tag closes. */
const isConsequence = ({ message }: LiquidError): boolean => partsOfBlocks.test(message);

function faultOf(error: LiquidError): Fault {
  const { token } = error;
  const message = (error.originalError?.message ?? error.message).replace(/, line:\d+, col:\d+$/, '');
  for (const { pattern, words, back = 0 } of wordings) {
    const match = pattern.exec(message);
    if (!match) continue;
    const offset = Math.max(0, token.begin - back);
    return { offset, message: words(match, token.input.slice(offset, token.end)) };
  }
  return { offset: token.begin, message };
}

interface Wording {
  readonly pattern: RegExp;
  readonly words: (match: RegExpExecArray, text: string) => string;
  /** How many characters LiquidJS has read past the fault. */
  readonly back?: number;
}

const wordings: readonly Wording[] = [
  { pattern: partsOfBlocks, words: ([, name]) => `\`{% ${name} %}\` belongs to no tag that is open here` },
  { pattern: /^tag "(.*)" not found/, words: ([, name = '']) => unknownTag(name) },
  { pattern: /^output .* not closed/, words: () => '`{{` is not closed; `}}` is missing' },
  { pattern: /^tag "\{%.* not closed/, words: () => '`{%` is not closed; `%}` is missing' },
  { pattern: /^raw .* not closed/, words: () => '`{% raw %}` is not closed; `{% endraw %}` is missing' },
  {
    pattern: /^tag (\{%-?\s*(\w+).*) not closed/s,
    words: ([, tag, name]) => `\`${tag}\` is not closed; \`{% end${name} %}\` is missing`,
  },
  { pattern: /^expected "\|" before filter/, words: (_, text) => leftOver(text), back: 1 },
  { pattern: /^expected filter name/, words: (_, text) => noFilter(text), back: 1 },
  { pattern: /^invalid value expression/, words: () => 'expected a value' },
  { pattern: /^illegal tag/, words: (_, text) => `expected \`{% for entry in list %}\`, got \`${text}\`` },
];

function unknownTag(name: string): string {
  const why = withheldTags.get(name);
  if (why !== undefined) return `the tag \`${name}\` is not available here: ${why}`;
  const meant = closest(name, Object.keys(checking.tags));
  return `unknown tag \`${name}\`${meant === null ? '' : `, did you mean \`${meant}\`?`}`;
}

function leftOver(text: string): string {
  const rest = text.trim().split('\n', 1)[0] ?? '';
  if (/^=(?!=)/.test(rest)) return 'expected `==` to compare; a single `=` only stands in `assign`';
  if (rest.startsWith('&&')) return 'expected `and` instead of `&&`';
  return `unexpected \`${rest}\`; expected \`|\` and a filter, or an operator such as \`==\``;
}

function noFilter(text: string): string {
  return text.startsWith('||') ? 'expected `or` instead of `||`' : 'expected a filter after `|`';
}
