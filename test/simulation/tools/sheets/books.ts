import type { Cell } from '../../../../sandbox/sheets/grid.ts';
import type { Delivery } from '../../../../src/model.ts';
import type { EventStory } from '../../../../src/store/store.ts';
import type { Play } from '../play.ts';
import type { PlayedSheets, SheetAction } from './tool.ts';

type SheetPlay = Play<SheetAction, PlayedSheets>;

interface Row {
  readonly tab: string;
  readonly cells: { readonly [header: string]: Cell };
}

/** What is wrong with what the spreadsheet has in the end, in words. */
export function findBreaches(play: SheetPlay, stories: readonly EventStory[]): string[] {
  const rows = play.tool.document.tabs.flatMap(({ title, rows: [header = [], ...below] }): Row[] =>
    below
      .filter((row) => row.some((cell) => cell !== ''))
      .map((row) => ({
        tab: title,
        cells: Object.fromEntries(header.map((name, column) => [String(name), row[column] ?? ''])),
      })),
  );
  const byId = Map.groupBy(rows, ({ cells }) => String(cells['Delivery']));
  return [
    ...writtenTwice(play, byId),
    ...keptTwice(rows),
    ...stories.flatMap((story) =>
      story.deliveries.flatMap((one) => [
        ...missing(play, story, one, byId.get(one.carrier ?? one.id) ?? []),
        ...outdated(play, stories, one, rows),
      ]),
    ),
  ];
}

function writtenTwice(play: SheetPlay, byId: ReadonlyMap<string, readonly Row[]>): string[] {
  return [...byId].flatMap(([id, some]) => {
    const where = some.map(({ tab }) => tab);
    return play.isTwice(id, where) ? [`${id} has rows in ${where.join(' and ')}`] : [];
  });
}

const isKeyed = ({ cells }: Row): boolean => (cells['Last'] ?? '') !== '';

/** A key has one row in a tab. */
function keptTwice(rows: readonly Row[]): string[] {
  const byKey = Map.groupBy(rows.filter(isKeyed), ({ tab, cells }) => `${cells['Who']} in ${tab}`);
  return [...byKey].flatMap(([key, some]) => (some.length > 1 ? [`${key} has ${some.length} rows`] : []));
}

function missing(
  play: SheetPlay,
  { event }: EventStory,
  { id, carrier, rule, action, state, lastError }: Delivery,
  written: readonly Row[],
): string[] {
  // Of a digest whose events have parted since, a person has to say where it goes.
  if (state === 'dead' && play.parted.has(carrier ?? id)) return [];
  if (state !== 'delivered') return [`${id} is ${state}: ${lastError}`];
  // The row of a key names only the newest.
  if (play.written(rule, action).key !== undefined) return [];
  const name = `${event.candidateId}/${event.status} `;
  return written.some(({ cells }) => String(cells['Who']).includes(name)) ? [] : [`${id} has no row`];
}

/** The row of a key tells of the newest event that went there. */
function outdated(
  play: SheetPlay,
  stories: readonly EventStory[],
  { id, eventId, rule, action, receipt }: Delivery,
  rows: readonly Row[],
): string[] {
  if (play.written(rule, action).key === undefined || receipt === null) return [];
  const { candidateId } = stories.find(({ event }) => event.id === eventId)!.event;
  const tab = tabOf(receipt);
  const row = rows.find((one) => isKeyed(one) && one.tab === tab && one.cells['Who'] === candidateId);
  if (!row) return [`${id} of ${candidateId} has no row in ${tab}`];
  return String(row.cells['Last']) < eventId!
    ? [`${id} of ${candidateId} is not what its row in ${tab} tells`]
    : [];
}

const tabOf = (receipt: NonNullable<Delivery['receipt']>): string =>
  /^'(.*)'!/.exec(String((receipt as { readonly range?: unknown }).range))![1]!;
