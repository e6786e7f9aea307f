import type { BacktestReport, Example, DifferenceGroup, ExampleDifference } from '../../backtest/backtest.ts';
import type { Json } from '../../model.ts';
import { count, printable } from '../../support/text.ts';
import { eventLine, type Io, paint } from '../output.ts';

/** The output of `backtest` on a terminal. */

const kinds = {
  removed: { sign: '-', style: 'red' },
  added: { sign: '+', style: 'green' },
  changed: { sign: '~', style: 'yellow' },
} as const;

const mostExamples = 5;

export function backtestText(report: BacktestReport, io: Pick<Io, 'color' | 'timeZone'>): string {
  const { differing, headline, sentences, groups } = report;
  if (differing === 0) return headline;
  const examples = report.examples.slice(0, mostExamples);
  const more = differing - examples.length;
  const width = String(groups[0]?.count).length;
  return [
    headline,
    ...sentences.map((one) => `  ${printable(one)}`),
    '',
    paint(io, 'bold', 'By rule'),
    ...groups.map((group) => {
      const keys = printable(group.keys.join(', '));
      const head = `  ${String(group.count).padStart(width)} × ${headText(group, io)}`;
      return keys === '' ? head : `${head}: ${keys}`;
    }),
    '',
    paint(io, 'bold', 'Examples'),
    ...examples.flatMap((one) => exampleLines(one, io)),
    ...(more > 0 ? [`  and ${count(more, 'more event')}`] : []),
  ].join('\n');
}

function headText(
  { kind, sink, rule }: Pick<DifferenceGroup, 'kind' | 'sink' | 'rule'>,
  io: Pick<Io, 'color'>,
) {
  const { sign, style } = kinds[kind];
  return `${paint(io, style, `${sign} ${kind}`)}  ${sink} (rule ${printable(rule)})`;
}

function exampleLines({ event, found }: Example, io: Pick<Io, 'color' | 'timeZone'>): string[] {
  const lines = found.flatMap((one) => {
    const said = linesOf(one).map((line) => `      ${printable(line)}`);
    return [`    ${headText(one, io)}`].concat(said);
  });
  return [eventLine(event, io)].concat(lines);
}

function linesOf({ kind, before, after, edits, unread }: ExampleDifference): string[] {
  if (kind === 'changed')
    return [
      ...edits.flatMap(({ key, before: old, after: fresh }) => editLines(key, old, fresh)),
      ...unread.map((key) => `${key}: differs, and reads the same`),
    ];
  const { fields = {}, fault = null } = after ?? before ?? {};
  const lines = Object.entries(fields).flatMap(([key, value]) =>
    isLong(value)
      ? [`${key}:`].concat(linesIn(value).map((line) => `  ${line}`))
      : [`${key}: ${shown(value)}`],
  );
  return fault === null ? lines : [...lines, `cannot be made: ${fault}`];
}

/** The lines for a changed key. Of long texts, only those from the first difference to the last. */
function editLines(key: string, before: Json, after: Json): string[] {
  if (!isLong(before) && !isLong(after)) return [`${key}: ${shown(before)} → ${shown(after)}`];
  const [old, fresh] = [linesIn(before), linesIn(after)];
  const start = alike(old, fresh);
  const end = alike(old.slice(start).toReversed(), fresh.slice(start).toReversed());
  const part = (lines: readonly string[], sign: string) =>
    lines.slice(start, lines.length - end).map((line) => `  ${sign} ${line}`);
  return [`${key}:`, ...part(old, '-'), ...part(fresh, '+')];
}

/** How many lines at the beginning are the same. */
function alike(a: readonly string[], b: readonly string[]): number {
  const differs = a.findIndex((line, at) => line !== b[at]);
  return differs === -1 ? a.length : differs;
}

const isLong = (value: Json): value is string => typeof value === 'string' && value.trimEnd().includes('\n');
const linesIn = (value: Json): string[] =>
  typeof value === 'string' ? value.trimEnd().split('\n') : value === null ? [] : [shown(value)];
const shown = (value: Json): string => (value === null ? 'nothing' : JSON.stringify(value));
