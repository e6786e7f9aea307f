import { cannotBeUsed, type Lost } from '../config/stored-plans.ts';
import { maskTexts, type Mask } from '../support/secret.ts';
import type { Event } from '../model.ts';
import { allActions, type Plan } from '../rules/plan.ts';
import { jsonLine, printable } from '../support/text.ts';
import { BacktestSummary } from './backtest-summary.ts';
import { compare, isSame, planned, type Difference, type Planned } from './compare.ts';
import { exit, type Io } from './io.ts';
import { eventFields } from './json.ts';
import { storedPlans } from './stored-plans.ts';
import { storiesOf } from './stories.ts';
import { planningConfig, withStoreAndConfig, type ConfigOption } from './with-store.ts';

interface BacktestOptions extends ConfigOption {
  /** In milliseconds since the epoch. */
  readonly since?: number;
  readonly json?: boolean;
}

/** Decides the stored events again by the config in `file`, and shows what differs from what was decided. Writes nothing. */
export async function backtest(file: string, options: BacktestOptions, io: Io): Promise<number> {
  const next = await planningConfig({ config: file }, io);
  return withStoreAndConfig(options, io, async (store, config) => {
    const mask: Mask = (text) => next.mask(config.mask(text));
    const plans = storedPlans(store, io);
    const summary = new BacktestSummary();
    for await (const { event, configId } of storiesOf(store, sinceOf(options))) {
      const then = wholly(await plans.get(configId));
      if ('lost' in then) {
        summary.couldNotCompare(then.lost);
        continue;
      }
      const difference = compare(planned(then, event), planned(next.plan, event));
      summary.add(event, difference);
      if (options.json && !isSame(difference)) io.out(jsonLine(differenceJson(event, difference, mask)));
      if (!(await io.drained())) break;
    }
    if (!options.json) io.out(mask(summary.text(io)));
    for (const [why, count] of summary.lost) {
      io.err(mask(printable(`${count} ${count === 1 ? 'event' : 'events'} could not be compared: ${why}`)));
    }
    return summary.lost.size > 0 ? exit.problems : summary.differing > 0 ? exit.differs : exit.ok;
  });
}

/** A plan of which nothing is lost: what could not be decided or said by it cannot be compared. */
function wholly(plan: Plan | Lost): Plan | Lost {
  if ('lost' in plan) return plan;
  const why = plan.unusable?.deciding ?? allActions(plan).find(({ lost }) => lost !== undefined)?.lost;
  return why === undefined || why === null ? plan : { lost: cannotBeUsed(why) };
}

const sinceOf = ({ since }: BacktestOptions) => (since === undefined ? {} : { since });

/** Only what messages say is masked: the rest is words of ours. */
function differenceJson(event: Event, { added, removed, changed }: Difference, mask: Mask) {
  return {
    ...eventFields(event),
    added: added.map((one) => plannedJson(one, mask)),
    removed: removed.map((one) => plannedJson(one, mask)),
    changed: changed.map(({ after: { rule, action, sink, connector }, edits }) => {
      const fields = Object.fromEntries(edits.map(({ key, before, after }) => [key, { before, after }]));
      return { rule, action, sink, connector, fields: maskTexts(fields, mask) };
    }),
  };
}

function plannedJson({ fault, fields, dueAt, ...rest }: Planned, mask: Mask) {
  return {
    ...rest,
    dueAt: new Date(dueAt).toISOString(),
    fields: maskTexts(fields, mask),
    ...(fault !== null && { fault: mask(fault) }),
  };
}
