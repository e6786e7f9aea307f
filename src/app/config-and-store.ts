import { connectors } from '../../connectors/index.ts';
import { createMetrics } from '../admin/metrics.ts';
import type { Config } from '../config/config.ts';
import { LiveConfig } from '../config/live/live-config.ts';
import { compilePlan, Plans } from '../config/live/stored-plans.ts';
import { parseConfig, textOf } from '../config/load.ts';
import { tooShort } from '../config/settings.ts';
import { readText } from '../config/text/files.ts';
import { withLookupSinks } from '../deliveries/deciding.ts';
import type { RefusedEvents } from '../model/notices.ts';
import { createLogger } from '../ops/log.ts';
import { RefusedFigures } from '../ops/refused.ts';
import { Replicas, retentionLease } from '../ops/replicas.ts';
import { keepRetention, lastSeenAt } from '../ops/retention.ts';
import { openStore } from '../store/open.ts';
import { systemClock } from '../support/clock.ts';
import { wantsColor } from '../support/text.ts';

export type Env = Readonly<Record<string, string | undefined>>;

/** What has to be done at the end, in reverse order. */
export type Undo = AsyncDisposableStack;

/** How long to wait for the log to be written: the reader of stdout may have stopped reading. */
export const logGraceMs = 500;

export async function readTheConfig(file: string, env: Env, undo: Undo) {
  const read = await readText(file, { onlyRegular: true });
  const text = textOf(read, file);
  // Left out, as they hold the whole file in memory.
  const { at: _at, scenarios: _scenarios, ...first } = parseConfig(text, file, { env, connectors });
  const live = new LiveConfig(first);
  const config = () => live.config;
  const color = wantsColor(process.stdout, env);
  const output = createLogger({ ...first.log, color, mask: (line) => config().mask(line) });
  undo.defer(() => output.end(logGraceMs));
  return { file, env, read, text: { inForce: text }, live, config, output, log: output.log };
}
type Base = Awaited<ReturnType<typeof readTheConfig>>;

export function tellUnwritten(refused: readonly RefusedEvents[], log: Base['log']): void {
  for (const one of refused)
    log.error(one, 'refused events that only this line tells of: the store cannot be written');
}

export async function openTheStore(base: Base, undo: Undo) {
  const { file, env, live, config, output, log } = base;
  const storeLost = Promise.withResolvers<void>();
  const damaged = (err: Error, over: boolean) => {
    log.fatal(
      { err },
      over ? 'the store was damaged: stopping' : 'the store was damaged: nothing is accepted',
    );
    if (over) storeLost.resolve();
  };
  const repaired = () => log.info('the store is whole again: events are accepted');
  const opened = await openStore(config().store.url, { serve: true, damaged, repaired });
  const store = undo.adopt(opened, (it) => it.close());
  const refused = new RefusedFigures(store, systemClock);
  undo.defer(async () => tellUnwritten(await refused.stop(), log));
  const replicas = new Replicas(store, log);
  const { clock } = replicas;
  await replicas.lookAtClock(store);
  const metrics = createMetrics(
    store,
    () => output.dropped(),
    () => clock.now(),
    refused,
  );
  const plans = new Plans(
    (id) => store.config(id),
    (source) => compilePlan(source, { env, connectors }),
  );
  const adopt = async (next: Config, policiesAsBefore = false) => {
    await store.saveConfig({ id: next.plan.id, source: next.planSource, savedAt: clock.now() });
    plans.adopt(next.plan);
    const formerUntil = live.adopt(next, clock.now(), policiesAsBefore);
    if (formerUntil !== null)
      log.info(
        { until: new Date(formerUntil).toISOString() },
        'receiver.token was changed: the one from before stays valid until the new one is used, and no longer than this',
      );
    log.level = next.log.level;
    metrics.configLoaded(Date.now(), live.waiting.length);
    // Look-ups too, as they may be paused like sinks.
    metrics.sinksKnown(withLookupSinks(next).sinks.keys());
    for (const { message, line, column, file: of = file } of next.warnings)
      log.warn({ file: of, line, column }, message);
    const closed = tooShort(live.config.admin);
    if (closed !== null) log.error({ file }, `the admin port lets nobody in: ${closed.message}`);
    if (live.waiting.length > 0)
      log.warn(
        { file, keys: live.waiting },
        'these keys wait for a restart; until then the old values stay in force',
      );
  };
  await live.tokens.resume(store, (err) =>
    log.debug({ err }, 'what is known of receiver.token could not be stored'),
  );
  await adopt(config());
  const plan = (id: string) => plans.get(id);
  return { ...base, store, storeLost: storeLost.promise, refused, replicas, clock, metrics, plan, adopt };
}
type Stored = Awaited<ReturnType<typeof openTheStore>>;

/**
 * Finds out whether the clock can be believed and the store is in its old place. Before any event can come: an event that is
 * stored with a wrong clock would make that clock look right.
 */
export async function judgeTheClock(stored: Stored, undo: Undo) {
  const { store, config, log, clock, replicas } = stored;
  const seenAt = await lastSeenAt(store);
  const distrusted = await store.settleIn(Math.max(clock.now(), seenAt));
  if (distrusted !== null)
    log.warn(
      { deliveries: distrusted },
      'the store was restored or moved: what waits may have been sent from where it was, so each tool is asked first',
    );
  const restoredAt = distrusted === null ? null : clock.now();
  const retention = keepRetention({
    store,
    clock,
    mine: () => replicas.holding(retentionLease) !== null,
    retentionMs: () => config().store.retentionMs,
    pruned: (events) => log.info({ events }, 'events older than the retention deleted'),
    doubted: (aheadMs) =>
      log.warn(
        { aheadHours: Math.round(aheadMs / 3_600_000) },
        'the clock is more than a day off from when the store was last used, or nobody knows when that was: ' +
          'until it has run on for 24 hours, nothing is deleted and no delivery is given up',
      ),
    failed: (error) => log.error({ err: error }, 'retention could not be applied; trying again later'),
  });
  undo.defer(retention.stop);
  const clockDoubted = () => retention.isClockDoubted() || replicas.isClockUnsure;
  return { ...stored, seenAt, restoredAt, clockDoubted };
}
export type Trusted = Awaited<ReturnType<typeof judgeTheClock>>;
