import type { AnyConnector } from '../connector.ts';
import { count } from '../support/text.ts';
import type { Difference, Edit, PlannedMessage } from './differences.ts';
import { digestKey } from './digests.ts';
import { addTo } from '../support/lists.ts';

/** What a change of the config means for recipients, added up over events, in sentences. */

/** One place, such as a channel or a recipient, and what it gets. */
interface Effect {
  readonly sink: string;
  readonly place: string;
  readonly unit: string;
  readonly inDigest: boolean;
  /** How many more or fewer messages, over all events. */
  more: number;
  fewer: number;
  /** Messages that still come but say something else, or only come at another time. */
  reworded: number;
  moved: number;
  /** Messages that are the same but come in another digest. */
  regrouped: number;
}

/** Of others, only the number is told. */
const mostSentences = 20;
const longestPlace = 120;

export class Effects {
  readonly #connectors: ReadonlyMap<string, AnyConnector>;
  readonly #byPlace = new Map<string, Effect>();
  /** Reasons why messages cannot be made any more, with their number. */
  readonly #faults = new Map<string, number>();

  constructor(connectors: ReadonlyMap<string, AnyConnector>) {
    this.#connectors = connectors;
  }

  /** Adds the differences of one event. The same message to a place by another rule is no difference there. */
  add(found: readonly Difference[]): void {
    const balance = new Map<Effect, number>();
    const shift = (effects: readonly Effect[], by: number) => {
      for (const effect of effects) addTo(balance, effect, by);
    };
    for (const { kind, planned, was, edits } of found) {
      const before = this.#reached(kind === 'removed' ? planned : was);
      const after = this.#reached(kind === 'removed' ? null : planned);
      shift(before, -1);
      shift(after, 1);
      const changed = changeOf(edits);
      for (const effect of after) if (before.includes(effect)) effect[changed] += 1;
      const isBroken = kind !== 'removed' && planned.fault !== null && (was?.fault ?? null) === null;
      if (isBroken) addTo(this.#faults, planned.fault);
    }
    for (const [effect, many] of balance) effect[many > 0 ? 'more' : 'fewer'] += Math.abs(many);
  }

  /** The effects on a message's recipients; none for a message that cannot be made. */
  #reached(message: PlannedMessage | null): Effect[] {
    if (message === null || message.fault !== null) return [];
    const { sink, connector } = message;
    const inDigest = message.digest !== null;
    const described = this.#connectors.get(connector)?.describe;
    const unit = described?.unit ?? 'message';
    return this.#placesOf(message).map((place) =>
      this.#byPlace.getOrInsertComputed(JSON.stringify([sink, place, unit, inDigest]), () => {
        return { sink, place, unit, inDigest, more: 0, fewer: 0, reworded: 0, moved: 0, regrouped: 0 };
      }),
    );
  }

  /** The names of a message's places. A program is named by its sink, as each call may go to another address. */
  #placesOf({ sink, connector, audience }: PlannedMessage): readonly string[] {
    const tells = this.#connectors.get(connector)?.describe?.starter.tells;
    const { place, members } = audience() ?? { place: '', members: [] };
    if (tells === 'program' || place === '') return [sink];
    if (tells === 'list') return [`${sink}, ${place}`];
    return members.length > 1 ? members : [place];
  }

  /** The effects in sentences, the largest first. */
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

const weight = ({ more, fewer, reworded, moved, regrouped }: Effect): number =>
  more + fewer + reworded + moved + regrouped;

function changeOf(edits: readonly Edit[]): 'reworded' | 'moved' | 'regrouped' {
  const keys = new Set(edits.map(({ key }) => key));
  if (keys.has(digestKey)) return 'regrouped';
  return keys.has('dueAt') && keys.size === 1 ? 'moved' : 'reworded';
}

function sentence({ sink, place, unit, inDigest, ...many }: Effect, namesSink: boolean): string {
  const { more, fewer, reworded, moved, regrouped } = many;
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
  const joins =
    regrouped > 0 &&
    `${regrouped} of them ${regrouped === 1 ? 'comes in another digest' : 'come in other digests'}`;
  const changes = [says, comes, joins].filter((one) => one !== false);
  if (more + fewer === 0) return `${who} gets ${gets}; ${changes.join(', ')}.`;
  const others = changes.map((one) => one.replace('of them', 'others'));
  return `${who} gets ${[gets, ...others].join('; ')}.`;
}
