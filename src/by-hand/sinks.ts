import { setTimeout as sleep } from 'node:timers/promises';
import { duration } from '../config/text/units.ts';
import { conditionOf, type FoundSink, isDown, sinkFacts } from '../ops/sink-states.ts';
import { running } from '../ops/status/status.ts';
import { type By, inForce, type Store } from '../store/store.ts';

/** Asks the process that serves the store to try a failing or paused sink at once. Returns the sink's state before. */
export async function retrySink(
  reads: Pick<Store, 'pauses' | 'personPauses' | 'sinkFigures' | 'askedToWait' | 'replicaStates'>,
  store: Pick<Store, 'askRetry' | 'now'>,
  sink: string,
  by: By,
): Promise<FoundSink> {
  const now = await store.now();
  const facts = await sinkFacts(reads, running(await reads.replicaStates(), now), now);
  const asked = (await reads.askedToWait(now)).filter((one) => one.sink === sink);
  const found = { ...conditionOf(sink, facts), asked };
  if (isDown(found)) await store.askRetry(sink, now, by);
  return found;
}

/** The schema of how long a person pauses a sink: a duration in words, which becomes ms. */
export const pauseLength = duration({ min: '1s', max: '365d' });

const askEveryMs = 50;
/**
 * How long to wait for the replica that has the sink. If it has just ended, the next one reads the pause before it
 * begins.
 */
const longestAskMs = 5000;

/**
 * Pauses a sink, for a time or until a person resumes it. Attempts under way are finished. Resolves once the process that
 * carries out the sink's deliveries begins no more; to when the pause ends (ms).
 */
export async function pauseSink(
  store: Pick<Store, 'pauseByPerson' | 'personPauses' | 'replicaStates' | 'now'>,
  sink: string,
  forMs: number | null,
  by: By,
  wake: () => void = () => {},
): Promise<number | null> {
  const now = await store.now();
  const until = forMs === null ? null : now + forMs;
  await store.pauseByPerson(sink, until, now, by);
  const replicas = running(await store.replicaStates(), now);
  const isServed = replicas.some(({ sinks }) => sinks.some(({ name }) => name === sink));
  const isAsked = async () => inForce(await store.personPauses(), now).get(sink)?.phase === 'asked';
  for (let leftMs = isServed ? longestAskMs : 0; leftMs > 0 && (await isAsked()); leftMs -= askEveryMs) {
    wake();
    await sleep(askEveryMs);
  }
  return until;
}
