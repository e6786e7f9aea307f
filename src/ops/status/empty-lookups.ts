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
/** Among so many of the newest deliveries: each page asks. Of events with four deliveries, that is as many look-ups. */
const lookedThrough = 2_500;
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
    sinks.map(async (sink) =>
      emptyOf(lookupOf(sink)!, await reads.attemptsOfSink(sink, lookedAt, lookedThrough)),
    ),
  );
  return found.flatMap((one) => one ?? []);
}

/** What the attempts of a look-up, newest first, tell. Null if they found something of all that they should. */
function emptyOf(lookup: string, attempts: readonly SinkAttempt[]): EmptyLookup | null {
  const answers = attempts.filter(({ outcome }) => outcome.outcome === 'delivered');
  const missing = namesIn(answers[0], 'lacks').flatMap((field) => {
    const asked = answers.filter((one) => hasField(one, 'found', field) || hasField(one, 'lacks', field));
    const run = runOf(asked, (one) => hasField(one, 'found', field));
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
  const run = runOf(calls, ({ outcome }) => outcome.outcome === 'delivered');
  const last = calls[0]?.outcome;
  return run === null || last?.outcome !== 'retry'
    ? null
    : { lookup, ...run, fields: null, detail: last.detail };
}

/** The fields that an answer had, or lacked. */
const namesIn = (one: SinkAttempt | undefined, which: 'found' | 'lacks'): string[] =>
  one?.outcome.outcome === 'delivered' ? [one.outcome.receipt[which] ?? []].flat().map(String) : [];

const hasField = (one: SinkAttempt, which: 'found' | 'lacks', field: string): boolean =>
  namesIn(one, which).includes(field);

/** How many of the newest lack something, where these are so many that it is no chance; else null. */
function runOf(
  newestFirst: readonly SinkAttempt[],
  found: (call: SinkAttempt) => boolean,
): Pick<EmptyLookup, 'calls' | 'didFind'> | null {
  const telling = tellingOf(newestFirst, found);
  const lost = lengthOfRun(telling, found);
  // As where many who did not take a test are told at once, of whom few ever have a report.
  const kinds = new Set(telling.slice(0, lost).map(kindOf));
  const earlier = telling.slice(lost).filter((call) => kinds.has(kindOf(call)));
  const didFind =
    lost >= fewestCalls &&
    earlier.length >= fewestEarlier &&
    earlier.filter(found).length >= asARule * earlier.length;
  if (didFind) return { calls: lost, didFind };
  const calls = lengthOfRun(newestFirst, found);
  return calls >= (calls === newestFirst.length ? fewestCalls : manyCalls) ? { calls, didFind } : null;
}

/** What may tell whether something is found: the test and the status. */
const kindOf = ({ testId, status }: SinkAttempt): string => `${testId} ${status}`;

function lengthOfRun(newestFirst: readonly SinkAttempt[], found: (call: SinkAttempt) => boolean): number {
  const end = newestFirst.findIndex(found);
  return end === -1 ? newestFirst.length : end;
}

/**
 * The calls that can tell of a change: of tests and statuses of which it was found, as who did not take a test has no score;
 * and the last of each candidate, who may have none in any test. While one is asked for again, it may be found yet, as where
 * an API has a result some minutes later.
 */
function tellingOf(
  newestFirst: readonly SinkAttempt[],
  found: (call: SinkAttempt) => boolean,
): SinkAttempt[] {
  const kinds = new Set(newestFirst.filter(found).map(kindOf));
  const seen = new Set<string>();
  return newestFirst.filter((call) => {
    if (!kinds.has(kindOf(call)) || seen.has(call.candidateId)) return false;
    seen.add(call.candidateId);
    return !isUnderWay(call.state);
  });
}
