import type { Event } from '../model.ts';
import { printable } from '../support/text.ts';
import { isSame, type Difference, type Edit, type Planned } from './compare.ts';
import type { Io } from './io.ts';
import { paint, when } from './paint.ts';

const mostExamples = 5;

type Sign = '+' | '-' | '~';

/** One thing that becomes other for an event. */
interface Item {
  readonly sign: Sign;
  readonly planned: Planned;
  readonly edits: readonly Edit[];
}

interface Group extends Item {
  count: number;
}

/** Adds up what becomes other: how often each kind of it happens, with a few events as examples. */
export class BacktestSummary {
  /** Why events could not be compared, with how many. */
  readonly lost = new Map<string, number>();
  differing = 0;
  #compared = 0;
  readonly #groups = new Map<string, Group>();
  readonly #examples: { readonly event: Event; readonly items: readonly Item[] }[] = [];

  couldNotCompare(why: string): void {
    this.lost.set(why, (this.lost.get(why) ?? 0) + 1);
  }

  add(event: Event, difference: Difference): void {
    this.#compared += 1;
    if (isSame(difference)) return;
    this.differing += 1;
    const items = itemsOf(difference);
    const isNews = items.map((item) => this.#count(item)).includes(true);
    if (isNews && this.#examples.length < mostExamples) this.#examples.push({ event, items });
  }

  text(io: Io): string {
    const total = `${this.#compared} ${this.#compared === 1 ? 'event' : 'events'} compared`;
    if (this.differing === 0) return `${total}: everything would be delivered as it was decided.`;
    const groups = [...this.#groups.values()].toSorted((a, b) => b.count - a.count);
    const width = String(groups[0]?.count).length;
    return [
      `${total}: ${this.differing} would be delivered differently.`,
      ...groups.map(
        (group) => `  ${String(group.count).padStart(width)} × ${headText(group, io)}${keysText(group)}`,
      ),
      '',
      paint(io, 'bold', 'Examples'),
      ...this.#examples.flatMap(({ event, items }) => [
        eventText(event),
        ...items.flatMap((item) => itemText(item, io)),
      ]),
    ].join('\n');
  }

  /** True where it is the first of its kind. */
  #count(item: Item): boolean {
    const {
      sign,
      planned: { sink, rule },
      edits,
    } = item;
    const key = JSON.stringify([sign, sink, rule, sign === '~' ? edits.map((edit) => edit.key) : []]);
    const group = this.#groups.get(key);
    if (group) group.count += 1;
    else this.#groups.set(key, { ...item, count: 1 });
    return group === undefined;
  }
}

function itemsOf({ added, removed, changed }: Difference): Item[] {
  return [
    ...removed.map((planned): Item => ({ sign: '-', planned, edits: [] })),
    ...added.map((planned): Item => ({ sign: '+', planned, edits: [] })),
    ...changed.map(({ after: planned, edits }): Item => ({ sign: '~', planned, edits })),
  ];
}

const words = { '+': 'added', '-': 'removed', '~': 'changed' } as const;
const styles = { '+': 'green', '-': 'red', '~': 'yellow' } as const;

function headText({ sign, planned: { sink, rule } }: Item, io: Io): string {
  return `${paint(io, styles[sign], `${sign} ${words[sign]}`)}  ${sink} (rule ${printable(rule)})`;
}

function keysText({ edits }: Item): string {
  return edits.length === 0 ? '' : `: ${printable(edits.map(({ key }) => key).join(', '))}`;
}

function eventText({ id, status, testId, candidateId, receivedAt }: Event): string {
  return `  ${id}  ${when(receivedAt)}  ${status}  test ${testId}  candidate ${printable(candidateId)}`;
}

function itemText(item: Item, io: Io): string[] {
  const {
    sign,
    planned: { fields, fault },
    edits,
  } = item;
  const lines =
    sign === '~'
      ? edits.map(({ key, before, after }) => `${key}: ${shown(before)} → ${shown(after)}`)
      : Object.entries(fields).map(([key, value]) => `${key}: ${shown(value)}`);
  const faultLine = fault !== null && sign !== '~' ? [`cannot be made: ${fault}`] : [];
  return [`    ${headText(item, io)}`, ...[...lines, ...faultLine].map((line) => `      ${printable(line)}`)];
}

const shown = (value: unknown): string => (value === null ? 'nothing' : JSON.stringify(value));
