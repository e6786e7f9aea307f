import type { Logger } from 'pino';
import { ConnectedSinks } from '../deliveries/sinks/connected-sinks.ts';
import { observeAttempts } from '../deliveries/call.ts';
import { leaseOfSink } from '../deliveries/leases.ts';
import { Worker } from '../deliveries/worker.ts';
import { accepting, createIntake } from '../intake.ts';
import { Deciding, withLookupSinks } from '../deliveries/deciding.ts';
import { lookupConnector, type PlannedDelivery } from '../model.ts';
import { Absences } from '../ops/absence.ts';
import { createAnnouncer } from '../ops/announcer.ts';
import { seldom } from '../ops/log.ts';
import type { Absence } from '../store/store.ts';
import { keptRefreshTokens } from '../store/refresh-tokens.ts';
import { eventIds } from '../support/ids.ts';
import type { Trusted, Undo } from './config-and-store.ts';

/**
 * How long attempts may take to finish at a stop. Docker kills 10 s after SIGTERM, and requests finish after attempts.
 */
export const attemptsGraceMs = 5000;

export async function prepareDeliveries(trusted: Trusted) {
  const { store, refused, config, plan, clock, clockDoubted, live, log, metrics, replicas } = trusted;
  const refreshTokens = keptRefreshTokens(store, config().store.secretKey, (message, error) =>
    log.error({ err: error }, message),
  );
  const sinks = new ConnectedSinks(refreshTokens);
  // Before this replica says what it knows, which replaces that.
  const states = await store.replicaStates();
  const absences = await Absences.before({ store, clock, id: replicas.id, found: toldIn(log) }, states);
  const known = states.flatMap(({ secretFaults = [] }) => secretFaults);
  const deciding: Deciding = new Deciding({
    store,
    clock,
    isClockUnsure: () => replicas.isClockUnsure,
    config,
    plan,
    gaveUp: (lookup) => metrics.lookups(lookup, 'given_up'),
    wake: (stored) => worker.wake(stored),
    failed: seldom((err, times) => log.error({ err, times }, 'an event could not be decided; trying again')),
  });
  const observed = observeAttempts(log, metrics);
  const whole = () => withLookupSinks(config());
  const doubted = sinks.newSecrets.recall(known, whole().sinks, config().plan.timeZone);
  const worker = new Worker({
    store,
    sinks,
    config: whole,
    plan,
    clock,
    clockDoubted,
    leases: replicas,
    random: Math.random,
    observe(report) {
      observed(report);
      if (report.delivery.connector === lookupConnector) deciding.wake();
    },
    sinkChanged(sink, change, because) {
      if (change === 'resumed') log.info({ sink }, 'sink resumed');
      else if (because) log.warn({ sink, because }, 'sink paused: it fails for all deliveries; it is probed');
      else log.warn({ sink }, 'sink still paused from before the start; it is probed');
    },
    pulledIn: (aheadMs, deliveries) =>
      log.warn(
        { aheadSeconds: Math.round(aheadMs / 1000), deliveries },
        'the clock was set back: deliveries that it had put off while it was ahead are due sooner',
      ),
    // Seldom, as each delivery under way tries again every second.
    storeFailed: seldom((err, times) => log.error({ err, times }, 'the store cannot be used; trying again')),
    callFailed: (error) => log.error({ err: error }, 'an attempt failed because of a bug in the connector'),
  });
  const wake = (stored?: readonly PlannedDelivery[]) => worker.wake(stored);
  const [newest] = await store.events({ limit: 1 });
  const nextId = eventIds({ after: newest?.event.id });
  const undecided = () => deciding.wake();
  const mayWait = () => deciding.mayWait;
  const intake = { store, refused, config, worker, undecided, mayWait, log, nextId };
  const accept = accepting(intake);
  const inbox = createIntake(intake, accept);
  const unsent = () => worker.fault ?? deciding.fault ?? replicas.fault;
  const announcer = createAnnouncer({
    store,
    clock,
    live,
    id: replicas.id,
    unsent,
    movedAt: () => replicas.movedAt,
    absences,
    secretFaults: () => sinks.newSecrets.faults(),
    mine: (sink) => replicas.holding(leaseOfSink(sink)) !== null,
    failed: (error) => log.debug({ err: error }, 'the sign of life could not be stored; trying again'),
  });
  const { servedSince } = absences;
  return {
    ...trusted,
    sinks,
    doubted,
    worker,
    deciding,
    whole,
    wake,
    accept,
    inbox,
    unsent,
    announcer,
    servedSince,
  };
}

const toldIn =
  (log: Logger) =>
  ({ from, to }: Absence): void =>
    log.warn(
      { from: new Date(from).toISOString(), to: new Date(to).toISOString() },
      'nobody served this store for a while: events of that time are not in it, and the service does not send them again; `reconcile` tells which',
    );

export type Working = Awaited<ReturnType<typeof prepareDeliveries>>;

/** Starts the worker, and begins to say in the store that this replica serves it. */
export async function beginDeliveries(working: Working, undo: Undo) {
  const { store, announcer, log, metrics, replicas, sinks, worker, deciding, whole, seenAt } = working;
  const { config } = working;
  undo.defer(() => announcer.stop());
  undo.adopt(sinks, (it) => it.close());
  undo.defer(async () => {
    await Promise.all([worker.stop(attemptsGraceMs), replicas.leave(config().shutdown.delayMs)]);
    await deciding.stop();
  });
  // Before the worker looks at the clock.
  await replicas.join({ store, config: whole, worker, log, counted: metrics.replicas });
  const rescued = await worker.start(seenAt);
  deciding.wake();
  await announcer.say();
  return rescued;
}
