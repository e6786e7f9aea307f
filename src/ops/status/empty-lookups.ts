import { lookupOf } from '../../model.ts';
import type { Reads } from '../../store/store.ts';
import type { Status } from './status.ts';

/** A look-up that works and never finds anything, or a field. */
export interface EmptyLookup {
  /** The end of a sentence that begins with `none of the last`. */
  readonly what: string;
  /** The part of a sentence before `was wrong`. */
  readonly wrong: string;
}

/** The command that asks again about those of whom nothing was found. */
export const askAgain = 'lookup --absent --since 24h --wait';

const lastCalls = 20;
const fewestCalls = 5;

/** Finds look-ups whose last calls all lacked something: the url or an `at` may be wrong, or the API has changed. */
export async function emptyLookups(
  reads: Pick<Reads, 'attemptsOfSink'>,
  { lookups }: Pick<Status, 'lookups'>,
): Promise<EmptyLookup[]> {
  const found: EmptyLookup[] = [];
  for (const { sink, figures } of lookups) {
    if (figures === null) continue;
    const outcomes = (await reads.attemptsOfSink(sink, lastCalls)).map(({ outcome }) => outcome);
    const empty = outcomes.flatMap((one) =>
      one.outcome === 'retry' && one.reason === 'not_found' ? [one.detail] : [],
    );
    const lacking = outcomes.flatMap((one) =>
      one.outcome === 'delivered' ? [[one.receipt['lacks'] ?? []].flat().map(String)] : [],
    );
    const many = lacking.length || empty.length;
    const never = lacking[0]?.filter((field) => lacking.every((others) => others.includes(field)));
    if (many < fewestCalls || never?.length === 0) continue;
    const [what, wrong] = never
      ? [
          `answers of ${lookupOf(sink)} had ${never.join(' or ')}, or not of the type that the config wants`,
          'the API has changed, or an `at` or a `type`',
        ]
      : [`calls of ${lookupOf(sink)} found what it asks for: ${empty[0]}`, 'the url'];
    found.push({ what: `${many} ${what}`, wrong });
  }
  return found;
}
