import { parentPort, workerData } from 'node:worker_threads';
import { connectors } from '../../../connectors/index.ts';
import { Backtest, type BacktestReport } from '../../backtest/backtest.ts';
import { wholly } from '../../backtest/differences.ts';
import { ConfigError } from '../../config/config.ts';
import { parseToTry } from '../../config/load.ts';
import { inOrder } from '../../config/text/problems.ts';
import { compilePlan, Plans } from '../../config/live/stored-plans.ts';
import { writtenSecrets } from '../../config/secrets/literal.ts';
import type { Json } from '../../model.ts';
import { masker } from '../../support/masker.ts';
import type { Trial, TrialQuestion } from '../../backtest/trials.ts';
import { lookOver, verdict } from './check.ts';

/**
 * The thread in which a config of the page is tried. It has no environment and reads no file: a reference stays as it is
 * written, in that config and in those that decided the events, so that the two can be compared.
 */

async function tried(question: TrialQuestion): Promise<Trial> {
  try {
    const config = parseToTry(question.text, question.name, {
      connectors,
      catalogInForce: question.catalogInForce,
    });
    const { errors, warnings, left, notes } = await lookOver(config);
    const isGood = errors.length === 0;
    const compared =
      isGood && question.events.length > 0 ? await backtested(question, config.planSource) : null;
    return {
      problems: inOrder([...errors, ...warnings]),
      summary: isGood ? verdict(config, warnings.length) : null,
      left: [...(isGood ? notes : []), ...left, ...(typeof compared === 'string' ? [compared] : [])],
      backtest: typeof compared === 'string' ? null : compared,
    };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return { problems: error.problems, summary: null, left: [], backtest: null };
  }
}

/** Compares the config with those that decided the events, or says why that cannot be done. */
async function backtested({ events, plans }: TrialQuestion, source: Json): Promise<BacktestReport | string> {
  // The id of the config on trial; no config in a store has it.
  const itself = '';
  const known = new Plans(
    async (id) => (id === itself ? source : (plans.get(id) ?? null)),
    (one) => compilePlan(one, asWritten(one)),
  );
  const next = wholly(await known.get(itself));
  if ('fault' in next) return next.fault;
  const summary = new Backtest(next, connectors);
  for (const { event, facts, configId } of events) summary.add(event, facts, await known.get(configId));
  return summary.report(masker([source, ...plans.values()].flatMap(writtenSecrets)));
}

/** Surroundings in which each reference stands for itself. One with a default has that instead, as a duration has to be one. */
function asWritten(source: Json) {
  const names = JSON.stringify(source).matchAll(/\$\{([A-Za-z_]\w*)(?!\w|:-)/g);
  const env = Object.fromEntries(Array.from(names, ([, name = '']) => [name, `\${${name}}`]));
  return { env, connectors, readFile: (path: string) => `\${file:${path}}` };
}

// oxlint-disable-next-line require-post-message-target-origin -- that is of browsers
parentPort?.postMessage(await tried(workerData as TrialQuestion));
