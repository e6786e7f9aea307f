import { isUnderWay, lookupOf } from '../../model.ts';
import type { Reads, SinkAttempt } from '../../store/store.ts';

/** A look-up that works, and whose last calls found nothing, or lacked a field. */
export interface EmptyLookup {
  readonly lookup: string;
  /** How many calls in a row that is true of. */
  readonly calls: number;
  /** What the answers lack; null where there was none, and `detail` says why. */
  readonly fields: readonly string[] | null;
  readonly detail: string;
  /** Whether it found as a rule what it does not find now: a person is needed. Else the API may leave out what it does not have. */
  readonly didFind: boolean;
}

/** As many attempts of a look-up are read. One event may have a dozen, where an API has a result some minutes later. */
const lookedAt = 500;
/** As many calls in a row tell something, where no earlier one found it, or nearly all did. */
const fewestCalls = 5;
/** As many in a row tell it where some earlier ones did. */
const manyCalls = 20;
const fewestEarlier = 10;
const asARule = 0.9;

/** Finds look-ups whose last calls all lacked something: the url or an `at` may be wrong, or the API has changed. */
export async function emptyLookups(
  reads: Pick<Reads, 'attemptsOfSink'>,
  sinks: readonly string[],
): Promise<EmptyLookup[]> {
  const found = await Promise.all(
    sinks.map(async (sink) => emptyOf(lookupOf(sink)!, await reads.attemptsOfSink(sink, lookedAt))),
  );
  return found.flatMap((one) => one ?? []);
}

/** What the attempts of a look-up, newest first, tell. Null if they found something of all that they should. */
function emptyOf(lookup: string, attempts: readonly SinkAttempt[]): EmptyLookup | null {
  const answers = attempts.flatMap(({ outcome }) =>
    outcome.outcome === 'delivered' ? [[outcome.receipt['lacks'] ?? []].flat().map(String)] : [],
  );
  const missing = (answers[0] ?? []).flatMap((field) => {
    const run = runOf(answers, (lacks) => lacks.includes(field));
    return run === null ? [] : [{ field, ...run }];
  });
  if (missing.length > 0)
    return {
      lookup,
      calls: Math.min(...missing.map(({ calls }) => calls)),
      fields: missing.map(({ field }) => field),
      detail: '',
      didFind: missing.some(({ didFind }) => didFind),
    };
  const calls = attempts.filter(
    ({ outcome: one }) =>
      one.outcome === 'delivered' || (one.outcome === 'retry' && one.reason === 'not_found'),
  );
  // While it is asked for again, it may be found yet, as where an API has a result some minutes later.
  const lastOfEach = [...new Map(calls.toReversed().map((call) => [call.eventId, call])).values()]
    .toReversed()
    .filter(({ state }) => !isUnderWay(state));
  const inEach = runOf(lastOfEach, isEmpty);
  const run = inEach?.didFind ? inEach : runOf(calls, isEmpty);
  const last = calls[0]?.outcome;
  if (run === null || last?.outcome !== 'retry') return null;
  return { lookup, calls: run.calls, fields: null, detail: last.detail, didFind: inEach?.didFind === true };
}

const isEmpty = ({ outcome }: SinkAttempt): boolean => outcome.outcome === 'retry';

/** How many of the newest lack something, where these are so many that it is no chance; else null. */
function runOf<Call>(
  newestFirst: readonly Call[],
  lacks: (call: Call) => boolean,
): Pick<EmptyLookup, 'calls' | 'didFind'> | null {
  const end = newestFirst.findIndex((call) => !lacks(call));
  const calls = end === -1 ? newestFirst.length : end;
  const earlier = newestFirst.slice(calls);
  const didFind =
    earlier.length >= fewestEarlier &&
    earlier.filter((call) => !lacks(call)).length >= asARule * earlier.length;
  const isTold = calls >= (didFind || earlier.length === 0 ? fewestCalls : manyCalls);
  return isTold ? { calls, didFind } : null;
}
