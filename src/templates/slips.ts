import { Output, type Template, type Token, TypeGuards } from 'liquidjs';
import type { Slip } from '../connector.ts';
import { type Json, statuses } from '../model.ts';
import { closest, partAlike } from '../support/text.ts';
import { isLocaleForm } from './dates.ts';
import { type Argument, tokenOf } from './filter-faults.ts';
import { argumentsOf, childrenOf, nameOf } from './find-faults.ts';
import { mostFaults } from './limits.ts';
import { parse } from './parse.ts';

/** A key of an event, `test.<key>` or a fact such as `candidate.score`, with the value that it is to equal, or that is to be a part of it. */
interface Comparison {
  readonly key: string;
  readonly value: Json;
  readonly isPart: boolean;
}

/** What a config tells of the values that templates compare. */
export interface KnownValues {
  /** Why no test has the value that is compared with `testId` or `test.<key>`; null where one has it, or may have it. */
  readonly whyNoTest: (comparison: Comparison) => string | null;
  /** The type of a fact; null for other keys, and where the catalog may say it, too. */
  readonly typeOf: (key: string) => 'number' | 'boolean' | 'text' | null;
}

/**
 * What a template holds and nobody means, although it can be rendered: comparisons whose result is always the same, values of
 * which only that is printed, dates without a date, and what is to be said of nothing and never is.
 */
export const slipsIn = (source: string, values: KnownValues): Slip[] => [
  ...slipsOf(parse(source).templates, { names: rootNames, values }).take(mostFaults),
];

/** What is known where a comparison stands. `names`: of events and their list, and of loops over something else. */
interface Known {
  readonly names: ReadonlyMap<string, 'event' | 'other'>;
  readonly values: KnownValues;
}

const rootNames: Known['names'] = new Map([
  ['event', 'event'],
  ['events', 'event'],
]);

function* slipsOf(templates: readonly Template[], known: Known): Generator<Slip> {
  for (const template of templates) {
    const name = nameOf(template);
    const [variable = null] = template.blockScope?.() ?? [];
    const given = argumentsOf(template, variable !== null);
    for (const one of given) {
      const tokens = inOrder(one);
      for (const [at, sign] of tokens.entries())
        if (isComparing(sign)) yield* neverEqual(tokens.slice(at - 1, at + 2), known);
      yield* chained(tokens);
      yield* together(tokens);
      if (name === 'if' || name === 'unless') yield* alone(tokens);
      if (template instanceof Output) yield* joined(tokens);
      if (!('filters' in one)) continue;
      const filters = one.filters.map(tokenOf);
      yield* filtered(tokens, filters);
      if (tokens.length === 1 && tokens[0]!.getText() === 'events') yield* chosen(filters, known.values);
      if (takesOne.has(template instanceof Output ? 'echo' : name))
        yield* behindComma([...tokens, ...filters]);
    }
    const [first, ...values] = given;
    const about =
      first === undefined || ('filters' in first && first.filters.length > 0) ? [] : inOrder(first);
    if (name === 'case' && about.length === 1)
      for (const value of values.map(inOrder))
        for (const { message } of neverEqual([...about, ...value], known)) yield slip(value, message);
    const kind = about[0]?.getText() === 'events' ? 'event' : 'other';
    const names = variable === null ? known.names : new Map([...known.names, [variable, kind] as const]);
    yield* slipsOf(childrenOf(template), { ...known, names });
  }
}

/** The values and operators of an expression as they are written. */
const inOrder = (argument: Argument): readonly Token[] =>
  'initial' in argument ? argument.initial.postfix.toSorted((a, b) => a.begin - b.begin) : [argument];

/** A slip from the first of these to the last. */
const slip = (tokens: readonly Token[], message: string): Slip => {
  const { begin } = tokens[0]!;
  return { index: begin, length: tokens.at(-1)!.end - begin, message };
};

const isOperator = (token: Token | undefined, signs: readonly string[]): boolean =>
  TypeGuards.isOperatorToken(token) && signs.includes(token.operator);
const isComparing = (token: Token | undefined): boolean => isOperator(token, ['==', '!=', 'contains']);
const isOrdering = (token: Token | undefined): boolean =>
  isComparing(token) || isOperator(token, ['<', '<=', '>', '>=']);
const isJoining = (token: Token | undefined): boolean => isOperator(token, ['and', 'or']);

/** A value of an event or a test beside one that it never equals, or never contains. */
function neverEqual(compared: readonly Token[], { names, values }: Known): Slip[] {
  const isPart = isOperator(compared[1], ['contains']);
  const holders = isPart ? compared.slice(0, 1) : compared;
  const [key] = holders.flatMap((token) => keyOf(token, names) ?? []);
  const [value] = compared.flatMap((token) => literalOf(token) ?? []);
  if (key === undefined || value === undefined) return [];
  return saying(compared, whyNot({ key, value, isPart }, values));
}

/** Filters that choose the events of a digest by a value that none has. */
const chosen = (filters: readonly Filter[], values: KnownValues): Slip[] =>
  filters.flatMap(({ name, args: [key, wanted] }) => {
    if (!choosing.has(name) || !TypeGuards.isQuotedToken(key) || !wanted || Array.isArray(wanted)) return [];
    const compared = [key, wanted as Token];
    const value = literalOf(wanted as Token);
    if (value === undefined) return [];
    return saying(compared, whyNot({ key: key.content, value, isPart: false }, values));
  });

const choosing = new Set(['where', 'reject', 'find', 'find_index', 'has']);

const saying = (tokens: readonly Token[], message: string | null): Slip[] =>
  message === null ? [] : [slip(tokens, message)];

const whyNot = (comparison: Comparison, values: KnownValues): string | null =>
  comparison.key === 'status' ? whyNoStatus(comparison) : whyNever(comparison, values);

function whyNoStatus({ value, isPart }: Comparison): string | null {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  if (statuses.some((status) => (isPart ? status.includes(text) : status === text))) return null;
  const meant = (isPart ? partAlike(text, statuses) : null) ?? closest(text, statuses);
  const hint = meant === null ? `there are ${statuses.join(', ')}` : `did you mean "${meant}"?`;
  return `no ${isPart ? 'status contains' : 'event has the status'} "${text}"; ${hint}`;
}

function whyNever({ key, value, isPart }: Comparison, { whyNoTest, typeOf }: KnownValues): string | null {
  const type = eventTypes.get(key) ?? typeOf(key);
  const what = type === 'boolean' ? 'true or false' : type === 'number' ? 'a number' : 'text';
  if (type !== null && type !== 'text' && isPart)
    return `${key} is ${what}, which contains nothing: write ==`;
  if (type !== null && !isPart && typeof value !== (type === 'text' ? 'string' : type)) {
    const isText = typeof value === 'string';
    const other = isText ? 'text' : typeof value === 'number' ? 'a number' : 'true or false';
    const unquoted = isText && type === 'number' ? 'leave the quotes out' : `write ${what}, without quotes`;
    const instead = type === 'text' ? 'put it in quotes' : unquoted;
    return `${key} is ${what}, and never equal to ${other}: ${instead}`;
  }
  // An empty text asks whether the catalog says something.
  return value === '' ? null : whyNoTest({ key, value, isPart });
}

const eventTypes: ReadonlyMap<string, 'number' | 'text'> = new Map([
  ['testId', 'number'],
  ['test.id', 'number'],
  ['candidateNumericalId', 'number'],
  ['candidateId', 'text'],
]);

/** What a path such as `events[0].status`, `test.level` or `one.candidate.score` leads to, by its name beside one event; null for other paths. */
function keyOf(token: Token, names: Known['names']): string | null {
  if (!TypeGuards.isPropertyAccessToken(token)) return null;
  const text = token.getText();
  const [, root = '', key = ''] = /^(\w+)(?:\[\d+\]|\.first|\.last)?\.((?:\w+\.)?[\w-]+)$/.exec(text) ?? [];
  const kind = names.get(root);
  if (kind === 'event') return key;
  return kind === 'other' || !/^\w+\.[\w-]+$/.test(text) ? null : text;
}

/** A text, a number, true or false as it is written; undefined for what a variable or `nil` says. */
function literalOf(token: Token): string | number | boolean | undefined {
  if (TypeGuards.isQuotedToken(token) || TypeGuards.isNumberToken(token)) return token.content;
  return TypeGuards.isLiteralToken(token) && typeof token.content === 'boolean' ? token.content : undefined;
}

/** Two comparisons in one, as in `70 <= score < 80`, of which the second is of true or false. */
const chained = (tokens: readonly Token[]): Slip[] =>
  tokens.flatMap((sign, at) => {
    if (!isOrdering(sign) || !isOrdering(tokens[at + 2])) return [];
    const [from, , value, further, to] = tokens.slice(at - 1, at + 4).map((token) => token.getText());
    const meant = `${from} ${sign.getText()} ${value} and ${value} ${further} ${to}`;
    return [
      slip(
        tokens.slice(at - 1, at + 4),
        `this compares the last value with the outcome of the first two; write ${meant}`,
      ),
    ];
  });

/** Comparisons of one path with several values, joined so that they always hold, or never. */
function together(tokens: readonly Token[]): Slip[] {
  const signs = new Set(
    tokens.flatMap((token) => (isOperator(token, ['and', 'or', 'not']) ? [token.getText()] : [])),
  );
  // LiquidJS reads `and` and `or` from the right, so that a mixture may mean more.
  if (signs.size !== 1) return [];
  const [sign, instead, comparing, how] = signs.has('or')
    ? ['or', 'and', '!=', 'always holds']
    : ['and', 'or', '==', 'never holds'];
  return tokens.flatMap((_token, at) => {
    const whole = tokens.slice(at - 3, at + 4);
    const [path, first, value, joining, again, second, other] = whole;
    if (at < 3 || other === undefined || !isOperator(joining, [sign])) return [];
    if (!isOperator(first, [comparing]) || !isOperator(second, [comparing])) return [];
    const values = [value, other].flatMap((one) => literalOf(one!) ?? []);
    if (path!.getText() !== again!.getText() || values.length !== 2 || values[0] === values[1]) return [];
    return [slip(whole, `this ${how}; write "${instead}" in place of "${sign}"`)];
  });
}

/** Values behind `and` or `or` that are compared with nothing. Before one, what the value before was compared with. */
const alone = (tokens: readonly Token[]): Slip[] =>
  tokens.flatMap((token, at) => {
    const isLast = at === tokens.length - 1 || isJoining(tokens[at + 1]);
    if (!isLast || !isJoining(tokens[at - 1])) return [];
    if (!TypeGuards.isQuotedToken(token) && !TypeGuards.isNumberToken(token)) return [];
    const [path, sign] = [tokens[at - 4], tokens[at - 3]];
    const meant = isComparing(sign) ? `; write ${path?.getText()} ${sign?.getText()} ${token.getText()}` : '';
    return [slip([token], `this alone is always true${meant}`)];
  });

/** Values of an output that are compared with nothing. For the first of several that there is, other languages write `or`. */
function joined(tokens: readonly Token[]): Slip[] {
  const values = tokens.filter((token) => !isJoining(token));
  if (values.length < 2 || values.some((value) => TypeGuards.isOperatorToken(value))) return [];
  // Where nothing stands between two values, they are no such alternatives, and that is a fault.
  if (tokens.length !== 2 * values.length - 1) return [];
  const first = values.map((value) => value.getText()).join(' | default: ');
  const isFirst = !tokens.some((token) => isOperator(token, ['and']));
  const hint = isFirst ? `; for the first that there is write ${first}` : '';
  return [slip(tokens, `this prints only true or false${hint}`)];
}

/** Tags that take one value or condition. Others, such as `when`, take several with commas. */
const takesOne = new Set(['if', 'unless', 'assign', 'echo']);

/** What stands behind an expression and a comma, where LiquidJS reads no further. */
function behindComma(expression: readonly Token[]): Slip[] {
  const { end, input } = expression.at(-1)!;
  const [comma = ''] = /^\s*,/.exec(input.slice(end)) ?? [];
  const message =
    'what stands behind this comma is ignored: write a {{ … }} for each value, and "or" or "and" between conditions';
  return comma === '' ? [] : [{ index: end + comma.length - 1, length: 1, message }];
}

type Filter = ReturnType<typeof tokenOf>;

const furtherDefault =
  'this is ignored: `default` takes one value; several addresses stand in one pair of quotes, with a comma between them';

/** Slips in the filters behind a value: a late `default`, one with several values, and dates. */
function filtered(value: readonly Token[], filters: readonly Filter[]): Slip[] {
  const maker = filters.findIndex(isMaker);
  const late = maker < 0 ? undefined : filters.slice(maker).find(({ name }) => name === 'default');
  const named = value.length === 1 ? value[0]!.getText() : '…';
  const said = `this never applies, as \`${filters[maker]?.name}\` makes something of nothing, too; write {% if ${named} %}…{% else %}not known{% endif %}`;
  return [
    ...daysAdded(named, filters),
    ...(late ? [{ index: late.begin, length: late.name.length, message: said }] : []),
    ...filters.filter(({ name }) => name === 'date').flatMap(dateSlips),
    ...filters
      .filter(({ name }) => name === 'default')
      .flatMap(({ args }) => args.filter((arg) => !Array.isArray(arg)).slice(1))
      .map((further) => slip([further as Token], furtherDefault)),
  ];
}

/** What is added to a time, of which only the number of its seconds can be added to. */
function daysAdded(named: string, [first, then]: readonly Filter[]): Slip[] {
  if (!/^now$|\.receivedAt$/.test(named) || !first || !['plus', 'minus'].includes(first.name)) return [];
  if (then?.name !== 'date') return [];
  const message = `a time is no number, so this is a day of 1970; for 3 days write ${named} | date: "%s" | ${first.name}: 259200 | date: …`;
  return [{ index: first.begin, length: first.name.length, message }];
}

const makers = new Set(
  `abs ceil floor round plus minus times divided_by modulo at_least at_most
  size number_of_words to_integer sum`.split(/\s+/),
);

/** Whether a filter makes something of nothing, such as 0 or the added text alone. */
function isMaker({ name, args: [added] }: Filter): boolean {
  if (name !== 'append' && name !== 'prepend') return makers.has(name);
  return TypeGuards.isQuotedToken(added) && added.content !== '';
}

/** Minutes beside a day or a year and behind no hour, where the month was meant, and the month behind an hour. */
const mixedUp = [
  [/%-?[deYy]\W{0,2}%M|(?<!%-?[HIkl]\W{0,2})%M\W{0,2}%-?[deYy]/g, '%M is the minute: the month is %m'],
  [/%-?[HI]\W{0,2}%m/g, '%m is the month: the minute is %M'],
] as const;

function dateSlips({ begin, args: [format], input }: Filter): Slip[] {
  if (!TypeGuards.isQuotedToken(format)) return [];
  const text = format.getText();
  const index = input.lastIndexOf('|', begin);
  if (!isLocaleForm(format.content) && !text.includes('%')) {
    const message = `this prints "${format.content}" itself: a date format has signs such as %d.%m.%Y`;
    return [{ index, length: format.end - index, message }];
  }
  return mixedUp.flatMap(([pattern, message]) =>
    Array.from(text.matchAll(pattern), ({ 0: found, index: at }) => ({
      index: format.begin + at,
      length: found.length,
      message,
    })),
  );
}
