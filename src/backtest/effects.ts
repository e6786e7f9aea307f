import type { AnyConnector } from '../connector.ts';
import { count } from '../support/text.ts';
import type { Difference, PlannedMessage } from './differences.ts';

/** What a change of the config means for whoever gets messages, added up over events and said in sentences. */

/** One place, such as a channel or a recipient, and what it gets. */
interface Effect {
  readonly sink: string;
  readonly place: string;
  readonly unit: string;
  readonly inDigest: boolean;
  /** Messages, by events that have more or fewer of them than before. */
  more: number;
  fewer: number;
  /** Messages that come all the same, and say something else, or only come at another time. */
  reworded: number;
  moved: number;
}

/** The others are counted. */
const mostSentences = 20;
const longestPlace = 120;

export class Effects {
  readonly #connectors: ReadonlyMap<string, AnyConnector>;
  readonly #byPlace = new Map<string, Effect>();
  /** Why messages cannot be made that could be, with how many. */
  readonly #faults = new Map<string, number>();

  constructor(connectors: ReadonlyMap<string, AnyConnector>) {
    this.#connectors = connectors;
  }

  /** `found`: of one event. What it has in one place by another rule than before is no difference there. */
  add(found: readonly Difference[]): void {
    const balance = new Map<Effect, number>();
    const shift = (effects: readonly Effect[], by: number) => {
      for (const effect of effects) balance.set(effect, (balance.get(effect) ?? 0) + by);
    };
    for (const { kind, planned, was, edits } of found) {
      const before = this.#reached(kind === 'removed' ? planned : was);
      const after = this.#reached(kind === 'removed' ? null : planned);
      shift(before, -1);
      shift(after, 1);
      const isLater = edits.every(({ key }) => key === 'dueAt');
      for (const effect of after) if (before.includes(effect)) effect[isLater ? 'moved' : 'reworded'] += 1;
      const isBroken = kind !== 'removed' && planned.fault !== null && (was?.fault ?? null) === null;
      if (isBroken) this.#faults.set(planned.fault, (this.#faults.get(planned.fault) ?? 0) + 1);
    }
    for (const [effect, many] of balance) effect[many > 0 ? 'more' : 'fewer'] += Math.abs(many);
  }

  /** Where a message arrives: at each of its recipients. One that cannot be made arrives nowhere. */
  #reached(message: PlannedMessage | null): Effect[] {
    if (message === null || message.fault !== null) return [];
    const { sink, connector, inDigest } = message;
    const described = this.#connectors.get(connector)?.describe;
    const unit = described?.unit ?? 'message';
    return this.#placesOf(message).map((place) =>
      this.#byPlace.getOrInsertComputed(JSON.stringify([sink, place, unit, inDigest]), () => {
        return { sink, place, unit, inDigest, more: 0, fewer: 0, reworded: 0, moved: 0 };
      }),
    );
  }

  /** A program is known by its sink: each of its calls may go to an address of its own. */
  #placesOf({ sink, connector, audience }: PlannedMessage): readonly string[] {
    const tells = this.#connectors.get(connector)?.describe?.starter.tells;
    const { place, members } = audience() ?? { place: '', members: [] };
    if (tells === 'program' || place === '') return [sink];
    if (tells === 'list') return [`${sink}, ${place}`];
    return members.length > 1 ? members : [place];
  }

  /** The most first. */
  sentences(): string[] {
    const all = [...this.#byPlace.values()]
      .filter((effect) => weight(effect) > 0)
      .toSorted((a, b) => weight(b) - weight(a));
    const sinks = Map.groupBy(all, ({ place }) => place);
    const isAmbiguous = ({ place }: Effect) => new Set(sinks.get(place)?.map(({ sink }) => sink)).size > 1;
    const more = all.length - mostSentences;
    return [
      ...all.slice(0, mostSentences).map((effect) => sentence(effect, isAmbiguous(effect))),
      ...(more > 0 ? [`There are other differences in ${count(more, 'more place')}.`] : []),
      ...Array.from(
        [...this.#faults].slice(0, mostSentences),
        ([why, many]) => `${count(many, 'message')} cannot be made: ${why}`,
      ),
    ];
  }
}

const weight = ({ more, fewer, reworded, moved }: Effect): number => more + fewer + reworded + moved;

function sentence({ sink, place, unit, inDigest, ...many }: Effect, namesSink: boolean): string {
  const { more, fewer, reworded, moved } = many;
  const short = place.length > longestPlace ? `${place.slice(0, longestPlace)}…` : place;
  const who = namesSink ? `${short} (${sink})` : short;
  const counted = (number: number) => count(number, inDigest ? 'event' : unit);
  const where = inDigest ? ' in digests' : '';
  const gets =
    more > 0 && fewer > 0
      ? `${counted(more)} more${where} for some events, and ${fewer} fewer for others`
      : more > 0
        ? `${counted(more)} more${where}`
        : fewer > 0
          ? `${counted(fewer)} fewer${where}`
          : `as many ${counted(2).slice(2)} as before${where}`;
  const says = reworded > 0 && `${reworded} of them ${reworded === 1 ? 'says' : 'say'} something else`;
  const comes = moved > 0 && `${moved} of them ${moved === 1 ? 'comes' : 'come'} at another time`;
  const changes = [says, comes].filter((one) => one !== false);
  if (more + fewer === 0) return `${who} gets ${gets}; ${changes.join(', ')}.`;
  const others = changes.map((one) => one.replace('of them', 'others'));
  return `${who} gets ${[gets, ...others].join('; ')}.`;
}
