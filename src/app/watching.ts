import { connectors } from '../../connectors/index.ts';
import type { SinkConfig } from '../config/config.ts';
import { proveAtStart } from '../config/live/prove-at-start.ts';
import { markOf, reloadConfig, watchConfig } from '../config/live/reload.ts';
import { changedOf } from '../config/text/references.ts';
import { checkSecrets } from '../deliveries/sinks/checks.ts';
import { Deadlines } from '../deliveries/limits/deadlines.ts';
import { watchAlerts } from '../ops/alerts/watch.ts';
import { alertsLease } from '../ops/replicas.ts';
import { noticeIds } from '../support/ids.ts';
import type { Undo } from './config-and-store.ts';
import type { Working } from './deliveries.ts';

const reloadThread = new URL('../config/live/reload-worker.ts', import.meta.url);

/** Reloads the config when its file changes, and tells people when the connector needs them. */
export async function watchOverIt(working: Working, undo: Undo) {
  const { file, env, read, text, live, config, adopt, announcer, restoredAt, servedSince } = working;
  const { store, refused, log, metrics, clock, replicas, sinks, doubted, worker, whole, wake } = working;
  const closing = new AbortController();
  undo.defer(() => closing.abort());
  const asked = { env, connectors, thread: reloadThread, signal: closing.signal };
  const tellProblems = () => {
    void announcer.say();
    metrics.configReloadFailed();
  };
  const deadlines = new Deadlines(clock, closing.signal);
  const askWhetherTheyWork = (changed: readonly SinkConfig[]) => {
    const sinkOf = (name: string) => whole().sinks.get(name);
    const isPausedByPerson = (sink: string) => worker.isPausedByPerson(sink);
    const work = (sink: string) => worker.tryPaused(sink);
    const checked = () => void announcer.say();
    const mask = (said: string) => config().mask(said);
    checkSecrets({ deadlines, sinks, mask, clock, log, sinkOf, isPausedByPerson, work, checked }, changed);
  };
  if (doubted.length > 0) askWhetherTheyWork(doubted);
  let textRead = text.inForce;
  let isProven = false;
  const proven = proveAtStart(live, textRead, { ...asked, log, clock, broken: tellProblems });
  void proven.then(() => (isProven = true));
  const watch = watchConfig(file, {
    inForce: markOf(read),
    files: () => config().files,
    load: async (changed, signal) => {
      await proven;
      textRead = changed;
      const { plan, files } = config();
      const sameText = changed === text.inForce ? { planId: plan.id, files } : undefined;
      return reloadConfig(changed, file, { ...asked, signal, sameText });
    },
    onLoaded: async ({ config: next, policiesAsBefore }) => {
      const [before, sinksBefore] = [config(), whole().sinks];
      await adopt(next, policiesAsBefore);
      text.inForce = textRead;
      if (live.refused) tellProblems();
      else void announcer.say();
      const changedFiles = changedOf(before.files, next.files);
      log.info({ file, ...(changedFiles.length > 0 && { changedFiles }) }, 'config reloaded');
      const changed = sinks.newSecrets.adopt(sinksBefore, whole().sinks, clock.now(), whole().plan.timeZone);
      askWhetherTheyWork(changed);
    },
    onFailed: (error) => {
      live.failed(error, clock.now());
      tellProblems();
      log.error({ file, err: error }, 'config not reloaded: the old one stays');
    },
  });
  undo.defer(() => watch.close());
  const [newest] = await store.notices({ limit: 1 });
  const stopAlerts = watchAlerts({
    nextId: noticeIds({ after: newest?.notice.id }),
    store,
    refused,
    announcer,
    clock,
    config: whole,
    wake,
    // Not before the policies are proven: one that does not hold would look as if its trouble were over.
    mine: () => isProven && replicas.holding(alertsLease) !== null,
    hasWork: (sink) => worker.hasWork(sink),
    movedAt: () => replicas.movedAt ?? restoredAt,
    servedSince,
    raised: (notice) => log.warn({ notice }, 'alert raised'),
    cannotSend: (notice) =>
      log.error({ notice }, 'alert cannot be sent: all its actions use the sink in trouble'),
    failed: (error) =>
      log.error({ err: error }, 'the conditions for alerts could not be checked; trying again'),
  });
  undo.defer(stopAlerts);
}
