import { access, chmod, constants, open, stat, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { connectors } from '../../../connectors/index.ts';
import { Backtest } from '../../backtest/backtest.ts';
import { differencesJson } from '../../backtest/differences.ts';
import { foundBy } from '../../lookups/kept-facts.ts';
import { storiesOf } from '../../store/paging.ts';
import type { Mask } from '../../support/secret.ts';
import { jsonLine, printable } from '../../support/text.ts';
import { ago, command, flag, readOption, textOption, TypedArgument } from '../command.ts';
import { CommandError, exit } from '../output.ts';
import { planningConfig, storedPlans, withStoreAndConfig } from '../with-store.ts';
import { backtestText } from './backtest-text.ts';

/** Decides the stored events again by another config, and shows what differs from what was decided. Writes nothing. */
export const backtest = command({
  name: 'backtest',
  description:
    'run another config over the stored events, and show how the deliveries would differ; exits 3 where they do',
  examples: [
    'backtest new.yaml --since 30d',
    'backtest new.yaml --html backtest.html   # with pictures of the messages, for a review',
    'backtest new.yaml --json   # one line for each event that differs',
  ],
  options: {
    since: readOption('--since <duration>', 'only events that came within this time, such as 30d', ago),
    json: flag('--json', 'print JSON lines'),
    html: textOption(
      '--html <file>',
      'write it as a page, too; replaces such a page of before, and no other file',
    ),
  },
  argument: new TypedArgument<string>(
    '<new>',
    'the other YAML file; --config is the one whose store has the events',
  ),
  async run(options, io, file) {
    const { since, json, html } = options;
    if (html !== undefined) await checkPlace(html);
    const next = await planningConfig({ config: file }, io);
    return withStoreAndConfig(options, io, async (store, config, local) => {
      // The plans that decided the events may have secrets that neither config knows.
      const earlier = new Map<string, Mask>();
      const mask: Mask = (text) =>
        earlier.values().reduce((shown, hide) => hide(shown), next.mask(config.mask(text)));
      const plans = storedPlans(store, io);
      const summary = new Backtest(next.plan, connectors);
      for await (const story of storiesOf(store, since === undefined ? {} : { since })) {
        const { event, lookups, configId } = story;
        const plan = await plans.get(configId);
        if (!('fault' in plan)) earlier.set(configId, (text) => plan.mask(text));
        const found = summary.add(event, foundBy(lookups), plan);
        if (json && found.length > 0) io.out(jsonLine(differencesJson(story, found, mask)));
        if (!(await io.drained()) && html === undefined) break;
      }
      const report = summary.report(mask);
      if (!json) io.out(mask(backtestText(report, local)));
      if (html !== undefined) {
        const { backtestFile } = await pages();
        const names = mask(`${file} in place of ${options.config}`);
        // Only for its owner: the page shows what messages say of candidates.
        const page = backtestFile(report, names, { connectors });
        // A file that was there keeps its mode otherwise. If it belongs to somebody else, they decide.
        await chmod(html, 0o600).catch(() => {});
        await writeFile(html, page, { mode: 0o600 }).catch(cannotWrite(html));
        if (!json) io.out(`\n${html} shows it with the messages before and after.`);
      }
      const lost = summary.lost();
      for (const one of [...summary.missing(), ...lost]) io.err(mask(printable(one)));
      return lost.length > 0 ? exit.problems : summary.differing > 0 ? exit.differs : exit.ok;
    });
  },
});

/** Loaded only if a page is asked for. */
const pages = () => import('../../pages/frame/backtests.ts');

/** Checks, before all events are read, that the page can be written. It may replace an earlier page, or an empty file as `mktemp` makes it. */
async function checkPlace(file: string): Promise<void> {
  const found = await stat(file).catch((error: NodeJS.ErrnoException) =>
    error.code === 'ENOENT' ? null : cannotWrite(file)(error),
  );
  if (found === null) {
    await access(dirname(file), constants.W_OK).catch(cannotWrite(file));
    return;
  }
  if (!found.isFile()) throw new CommandError(`${file} cannot be written: it is no file`);
  const handle = await open(file, 'r+').catch(cannotWrite(file));
  try {
    const { backtestMark } = await pages();
    const { buffer, bytesRead } = await handle.read({ buffer: Buffer.alloc(backtestMark.length) });
    if (bytesRead > 0 && buffer.toString('utf8', 0, bytesRead) !== backtestMark)
      throw new CommandError(
        `${file} is there already, and is no page of \`backtest\`: it stays as it is; name another file`,
      );
  } finally {
    await handle.close();
  }
}

const cannotWrite =
  (file: string) =>
  ({ message }: Error): never => {
    throw new CommandError(`${file} cannot be written: ${message}`);
  };
