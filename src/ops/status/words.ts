import { keptRejected } from '../../store/operations/receiving.ts';
import type { NoticeStory } from '../../store/store.ts';
import { program, shellWord } from '../../support/invocation.ts';
import { count } from '../../support/text.ts';
import type { EmptyLookup } from './empty-lookups.ts';
import type { Status } from './status.ts';
import { isUnderWay } from '../../model.ts';

/** The words for a status that commands and pages share. */

/** How many requests of the last week were not valid events: the service may have changed what it sends. */
export const rejectedWords = ({ rejectedThisWeek: many }: Pick<Status, 'rejectedThisWeek'>): string =>
  `${count(many, 'request')}${many < keptRejected ? '' : ' or more'} of the last 7 days ${many === 1 ? 'was not a valid event' : 'were not valid events'}`;

/** Where events in a row could not be read: what may be the matter, and what ends it. */
export const unreadWords =
  'The service may have changed what it sends, or something on the way changes it. It is over with the next event that can be read';

/** The title over what was delivered of late with a fault, such as a recipient that was left out or a column that was made anew. */
export const missedTitle = 'Delivered, but not as meant';

/** What is said where the replicas run different configs. */
export const differWords =
  'each event is decided by that of the replica that takes it, and goes where that of the replica that calls the sink says';

export const whyDiffer =
  'Where the files are the same, other variables or secrets are read into them; or two connectors use one store, where each needs its own.';

export const configsDiffer = ({ replicas }: Pick<Status, 'replicas'>): boolean =>
  new Set(replicas.map(({ config }) => config.id)).size > 1 ||
  // A replica of an older version does not say it.
  new Set(replicas.flatMap(({ config: { callsBy } }) => callsBy ?? [])).size > 1;

/** As long as a change of all replicas may take (ms). */
const changeMs = 15 * 60_000;

/** Whether they still differ when a change of all must be over: a person forgot one, or two connectors use one store. */
export const differForLong = ({ replicas, now }: Pick<Status, 'replicas' | 'now'>): boolean =>
  configsDiffer({ replicas }) && replicas.every(({ config }) => now - config.since > changeMs);

/** How many events of the last week were decided without an answer of a look-up; empty where none was. */
export function unansweredWords({ unanswered: { count: many, isAll } }: Pick<Status, 'unanswered'>): string {
  const events = isAll ? count(many, 'event') : `more than ${many} events`;
  return many === 0
    ? ''
    : `${events} of the last 7 days ${many === 1 ? 'was' : 'were'} decided without an answer of a look-up: messages about ${many === 1 ? 'it' : 'them'} lack what it would have found, such as a name or a score, or were not sent`;
}

/** What a look-up does not find, without a full stop, and the part of a sentence before `was wrong`. */
export function emptyLookupWords({ lookup, calls, fields, detail, didFind }: EmptyLookup) {
  const what =
    fields === null
      ? `calls of ${lookup} found what it asks for: ${detail.replace(/\.$/, '')}`
      : `answers of ${lookup} had ${fields.join(' or ')}, or not of the type that the config wants`;
  return {
    what: `None of the last ${calls} ${what}${didFind ? '; earlier ones did' : ''}`,
    wrong: fields === null ? 'the url' : 'the API has changed, or an `at` or a `type`',
  };
}

/** What is in only one of a store and the file that was saved when it was put in place of another, and how to lose none of it: sentences with commands in backticks. */
export const rescuedWords = (file: string) => ({
  what: `what was accepted shortly before that may be in ${file} alone, and what came since is in the store alone`,
  then: [
    `\`${program} events --store ${shellWord(`sqlite:${file}`)}\` lists it. To go on with that file, stop the connector, move the store to another folder and put the file in its place; else move the file there.`,
    `What only the moved one has is taken in from what \`${program} events --store sqlite:MOVED --csv\` prints: \`${program} reconcile moved.csv --candidate candidateId --test testId --status status --at receivedAt --accept\``,
  ],
});

/** The command that asks again about those of whom nothing was found. */
export const askAgain = 'lookup --absent --since 24h --wait';

interface Gap {
  /** Words, and times (ms). */
  readonly what: readonly (string | number)[];
  readonly after: string;
}

/** What may be missing in the store, and since when, with words before the command that finds it. */
export const gapsIn = ({ movedAt, absences }: Pick<Status, 'movedAt' | 'absences'>): Gap[] => [
  ...(movedAt === null
    ? []
    : [
        {
          what: ['PostgreSQL was promoted, restored or moved at ', movedAt],
          after:
            'what it was told last may be missing, events as well as what people did (a pause, a discard). Look at that again. Of events, an export of the service tells',
        },
      ]),
  ...(absences.length === 0
    ? []
    : [
        {
          what: absences.flatMap(({ from, to }, index) => [
            `${index === 0 ? 'No connector served this store' : ', and'} from `,
            from,
            ' to ',
            to,
          ]),
          after:
            'events of that time are not in it, and the service does not send them again. An export of it tells which',
        },
      ]),
];

/** A sentence where a notice has reached nobody; else empty. */
export function unheardWords({ deliveries }: Pick<NoticeStory, 'deliveries'>): string {
  if (deliveries.some(({ state }) => state === 'delivered')) return '';
  return deliveries.some(({ state }) => isUnderWay(state))
    ? 'This has reached nobody yet.'
    : 'This has reached nobody.';
}
