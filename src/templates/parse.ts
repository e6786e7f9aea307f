import { LiquidError } from 'liquidjs';
import type { Template } from 'liquidjs';
import { closest } from '../config/suggest.ts';
import { checking, withheldTags } from './engine.ts';

/** A fault in a template, where it begins: an offset into its text. */
export interface Fault {
  readonly offset: number;
  readonly message: string;
}

export function parse(source: string): { readonly templates: Template[] } | { readonly faults: Fault[] } {
  try {
    return { templates: checking.parse(source) };
  } catch (error) {
    const errors = (error as { errors?: LiquidError[] }).errors ?? [error as LiquidError];
    return { faults: errors.filter((one, index) => index === 0 || !isConsequence(one)).map(faultOf) };
  }
}

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
  if (/^(&&|\|\|)/.test(rest)) return 'expected `and` or `or`';
  return `unexpected \`${rest}\`; expected \`|\` and a filter, or an operator such as \`==\``;
}
