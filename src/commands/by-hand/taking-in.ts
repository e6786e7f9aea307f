import type { PlanningConfig } from '../../config/load.ts';
import { accepting } from '../../intake.ts';
import { lookupsOf } from '../../deliveries/deciding.ts';
import { noFacts, unknownOfEvent } from '../../model.ts';
import type { ReceivedEvent } from '../../receiver/receive.ts';
import { decide } from '../../rules/decide.ts';
import type { Plan } from '../../rules/plan.ts';
import type { Store } from '../../store/store.ts';
import { eventIds } from '../../support/ids.ts';
import { count, firstListed, printable } from '../../support/text.ts';
import { saveToday } from '../with-store.ts';
import { addTo } from '../../support/lists.ts';

/** Makes what takes events into a store as if they came now, by today's config. Their ids follow those in the store. */
export async function takingIn(store: Store, config: PlanningConfig) {
  await saveToday(store, config);
  const [newest] = await store.events({ limit: 1 });
  const parts = { store, config: () => config };
  return { ...parts, accept: accepting({ ...parts, nextId: eventIds({ after: newest?.event.id }) }) };
}

/** Sums up what today's rules ask for, for events that a person is about to take in. */
export class AskedFor {
  readonly #plan: Plan;
  readonly #bySink = new Map<string, number>();
  /** How many events are looked up before they are decided. */
  #undecided = 0;
  #overtaken = 0;

  constructor(plan: Plan) {
    this.#plan = plan;
  }

  /** `isOvertaken`: a later event of the same candidate and test has come. */
  add({ event, ...received }: ReceivedEvent, isOvertaken: boolean): void {
    if (isOvertaken) this.#overtaken += 1;
    const subject = { ...unknownOfEvent, id: 'evt_', ...event, ...received };
    if ((lookupsOf(this.#plan, subject)?.asked.length ?? 0) > 0) this.#undecided += 1;
    else
      for (const { sink } of decide(this.#plan, subject, noFacts, received.receivedAt))
        addTo(this.#bySink, sink);
  }

  /** The sum in sentences. */
  get words(): string {
    const sinks = Array.from(this.#bySink, ([sink, many]) => `${many} to ${sink}`);
    const asked = sinks.length === 0 ? 'no deliveries' : firstListed(sinks, 10);
    const overtaken = `${count(this.#overtaken, 'event')} ${this.#overtaken === 1 ? 'is' : 'are'} older than what came of the same candidate and test: a message with \`updateBy\` and a row with a \`key\` will show the older status.`;
    const later = `${count(this.#undecided, 'event')} will be looked up first: what rules ask for is known then.`;
    return [
      ...(sinks.length > 0 || this.#undecided === 0 ? [printable(`Rules ask for ${asked}.`)] : []),
      ...(this.#undecided > 0 ? [later] : []),
      ...(this.#overtaken > 0 ? [overtaken] : []),
    ].join('\n');
  }
}
