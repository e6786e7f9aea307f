import type { Config } from '../../src/config/config.ts';
import { type ExplainedDelivery, explained } from '../../src/deliveries/explained.ts';
import type { ActionRef, Event, Facts, Json } from '../../src/model.ts';
import type { Case } from './foresight-cases.ts';

/** A message that one event asks for, as `explain` tells it. */
export interface Foreseen extends ActionRef {
  readonly config: Config;
  readonly event: Event;
  readonly decidedAt: number;
  readonly dueAt: number;
  readonly max: number;
  readonly message: Json;
  /** What the events of one message agree in. */
  readonly agreed: string;
}

/** A message that a tool got. `latest`: the facts of its events by then. */
export interface Got extends ActionRef {
  readonly at: number;
  readonly message: Json;
  readonly events: readonly Event[];
  readonly latest: readonly Facts[];
}

/** A message may wait for its turn, and an event for its look-up. */
const slackMs = 60_000;

/** What tools got that was not foreseen, and what was foreseen and did not come, in words. */
export function compare(played: Case, foreseen: readonly Foreseen[], got: readonly Got[]): string[] {
  const keyOf = ({ rule, action }: ActionRef, { id }: Event) => `${rule} ${action} of ${id}`;
  const known = new Map(foreseen.map((one) => [keyOf(one, one.event), one]));
  const told = new Map<string, number>();
  const breaches: string[] = [];
  const parts = new Map<string, number>();
  for (const message of got) {
    const { rule, action, at, events, latest } = message;
    const asked = events.map((event) => known.get(keyOf(message, event)));
    const name = `${rule} ${action} at ${new Date(at).toISOString()} of ${events.map(({ candidateId }) => candidateId).join(', ')}`;
    for (const event of events) told.set(keyOf(message, event), (told.get(keyOf(message, event)) ?? 0) + 1);
    const sure = asked.filter((one) => one !== undefined);
    if (sure.length < asked.length) {
      breaches.push(`${name}: nobody foresaw it`);
      continue;
    }
    const [first] = sure;
    const { agreed, max, dueAt } = first!;
    parts.set(agreed, (parts.get(agreed) ?? 0) + 1);
    if (sure.some((one) => one.agreed !== agreed))
      breaches.push(`${name}: ${sure.map((one) => one.agreed).join(' and ')} in one`);
    if (events.length > max) breaches.push(`${name}: more than ${max}`);
    if (at < dueAt || at > dueAt + slackMs) breaches.push(`${name}: due at ${new Date(dueAt).toISOString()}`);
    // What a look-up that was made again has found counts where the events still go together.
    const newest = sure.map((one, index) => {
      const facts = latest[index]!;
      const again = explained(one.config, one.event, one.decidedAt, facts);
      const found = again.deliveries.find(
        ({ planned }) => planned.rule === rule && planned.action === action,
      )!;
      return { agreed: agreement(played, found, one.event, facts), message: found.message };
    });
    const together = new Set(newest.map((one) => one.agreed)).size === 1;
    const meant = together ? newest[0]! : first!;
    if (placeOf(message.message) !== placeOf(meant.message))
      breaches.push(`${name}: went to ${placeOf(message.message)}, not to ${placeOf(meant.message)}`);
    const names = events.map(({ candidateId, status }) => `${candidateId}/${status}`).join(' ');
    if (!JSON.stringify(message.message).includes(`=${names} =`))
      breaches.push(`${name}: is not about ${names}: ${JSON.stringify(message.message)}`);
  }
  for (const [key] of known)
    if (told.get(key) !== 1) breaches.push(`${key} came ${told.get(key) ?? 0} times`);
  const wanted = Map.groupBy(foreseen, ({ agreed }) => agreed);
  for (const [agreed, some] of wanted) {
    const least = Math.ceil(some.length / some[0]!.max);
    if (parts.get(agreed) !== least)
      breaches.push(`${agreed}: ${parts.get(agreed) ?? 0} messages, not ${least}`);
  }
  return breaches;
}

/** What the events of one message agree in; without a digest, none agrees with another. */
export function agreement(
  { by }: Pick<Case, 'by'>,
  { action, planned, message }: ExplainedDelivery,
  event: Event,
  facts: Facts,
): string {
  const { rule, dueAt } = planned;
  if (!action.digest) return `${rule} ${action.action} of ${event.id}`;
  const values = by
    .get(keyOf(action))!
    .map((field) =>
      field === 'candidate.recruiter'
        ? (facts['candidate']?.fields['recruiter'] ?? null)
        : event[field as 'status'],
    );
  return JSON.stringify([rule, action.action, new Date(dueAt).toISOString(), values, placeOf(message)]);
}

const keyOf = ({ rule, action }: ActionRef): string => `${rule} ${action}`;

/** Where a message goes, as its tool sees it: in any capitals. */
function placeOf(message: Json): string {
  const { channel, to, tab } = message as Record<string, Json>;
  return JSON.stringify(channel ?? to ?? tab).toLowerCase();
}
