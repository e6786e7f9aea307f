import { Parser, Tokenizer, TypeGuards } from 'liquidjs';
import type { LiquidError, TagToken, Template, TopLevelToken } from 'liquidjs';
import { closest } from '../suggest.ts';
import { checking, withheldTags } from './engine.ts';
import { inWords, sizes } from './limits.ts';

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
  const tooLarge = tooMuchOf(source);
  if (tooLarge) return { templates: [], faults: [tooLarge], namesAreSound: false };
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

/** What would take long to parse, or be too deep for the stack, is found before LiquidJS tries. */
function tooMuchOf(source: string): Fault | null {
  if (source.length > sizes.characters)
    return { offset: sizes.characters, message: `it is longer than ${inWords(sizes.characters)} characters` };
  const counted = new PieceCount();
  counted.countAll(tokensOf(source, []));
  return counted.fault;
}

class PieceCount {
  fault: Fault | null = null;
  #pieces = 0;
  #depth = 0;

  countAll(tokens: readonly TopLevelToken[]): void {
    for (const token of tokens) {
      if (this.fault) return;
      if (TypeGuards.isTagToken(token)) this.#countTag(token);
      else if (TypeGuards.isOutputToken(token)) this.#count(token);
    }
  }

  #countTag(token: TagToken): void {
    if (token.name === 'liquid') return this.#countLines(token);
    if (token.name.startsWith('end')) this.#depth = Math.max(0, this.#depth - 1);
    else if (blocks.has(token.name)) this.#depth += 1;
    this.#count(token);
  }

  /** The lines of this tag are tags themselves. */
  #countLines(token: TagToken): void {
    this.#depth += 1;
    this.#countPlace(token);
    if (!this.fault) this.countAll(linesOf(token));
    this.#depth -= 1;
  }

  #count(token: TopLevelToken): void {
    if (token.end - token.begin > sizes.ofPiece)
      this.#report(token, `a tag or output of it is longer than ${inWords(sizes.ofPiece)} characters`);
    this.#countPlace(token);
  }

  #countPlace(token: TopLevelToken): void {
    this.#pieces += 1;
    if (this.#pieces > sizes.pieces)
      this.#report(token, `it has more than ${inWords(sizes.pieces)} tags and outputs`);
    if (this.#depth > sizes.depth)
      this.#report(token, `its tags are more than ${sizes.depth} deep inside each other`);
  }

  #report({ begin }: TopLevelToken, message: string): void {
    this.fault ??= { offset: begin, message };
  }
}

const blocks = new Set(['if', 'unless', 'case', 'for', 'tablerow', 'capture', 'comment', 'raw']);

function linesOf({ tokenizer }: TagToken): readonly TopLevelToken[] {
  const at = tokenizer.p;
  try {
    return tokenizer.readLiquidTagTokens(checking.options);
  } catch {
    return [];
  } finally {
    tokenizer.p = at;
  }
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
    pattern: /^tag (\{%-?\s*(\w+)\b.*) not closed/s,
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
