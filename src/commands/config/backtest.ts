import { foundBy } from '../../lookups/facts.ts';
import { storiesOf } from '../../store/paging.ts';
import type { Mask } from '../../support/secret.ts';
import { jsonLine, printable } from '../../support/text.ts';
import { ago, command, flag, readOption, TypedArgument } from '../command.ts';
import { exit } from '../output.ts';
import { planningConfig, storedPlans, withStoreAndConfig } from '../with-store.ts';
import { Backtest, differencesJson } from './plan-differences.ts';

/** Decides the stored events again by another config, and shows what differs from what was decided. Writes nothing. */
export const backtest = command({
  name: 'backtest',
  description:
    'run another config over the stored events, and show how the deliveries would differ; exits 3 where they do',
  examples: [
    'backtest new.yaml --since 30d',
    'backtest new.yaml --json   # one line for each event that differs',
  ],
  options: {
    since: readOption('--since <duration>', 'only events that came within this time, such as 30d', ago),
    json: flag('--json', 'print JSON lines'),
  },
  argument: new TypedArgument<string>(
    '<new>',
    'the other YAML file; --config is the one whose store has the events',
  ),
  async run(options, io, file) {
    const { since, json } = options;
    const next = await planningConfig({ config: file }, io);
    return withStoreAndConfig(options, io, async (store, config) => {
      const mask: Mask = (text) => next.mask(config.mask(text));
      const plans = storedPlans(store, io);
      const summary = new Backtest(next.plan);
      for await (const { event, lookups, configId } of storiesOf(
        store,
        since === undefined ? {} : { since },
      )) {
        const found = summary.add(event, foundBy(lookups), await plans.get(configId));
        if (json && found.length > 0) io.out(jsonLine(differencesJson(event, found, mask)));
        if (!(await io.drained())) break;
      }
      if (!json) io.out(mask(summary.text(io)));
      const lost = summary.lost();
      for (const one of [...summary.missing(), ...lost]) io.err(mask(printable(one)));
      return lost.length > 0 ? exit.problems : summary.differing > 0 ? exit.differs : exit.ok;
    });
  },
});
