import { keptRejected } from '../../store/operations/receiving.ts';
import type { NoticeStory, ReplicaState } from '../../store/store.ts';
import { count } from '../../support/text.ts';
import type { Status } from './status.ts';
import { isUnderWay } from '../../model.ts';

/** The words for a status that commands and pages share. */

/** How many requests of the last week were not valid events: the service may have changed what it sends. */
export const rejectedWords = ({ rejectedThisWeek: many }: Pick<Status, 'rejectedThisWeek'>): string =>
  `${count(many, 'request')}${many < keptRejected ? '' : ' or more'} of the last 7 days ${many === 1 ? 'was not a valid event' : 'were not valid events'}`;

/** The title over what was delivered of late with a fault, such as a recipient that was left out or a column that was made anew. */
export const missedTitle = 'Delivered, but not as meant';

/** The replicas by what they run: those of a group run the same. */
export const byConfig = (replicas: readonly ReplicaState[]): ReplicaState[][] => [
  ...Map.groupBy(replicas, ({ config: { id, callsBy, file } }) => `${id} ${callsBy} ${file}`).values(),
];

/** `on one and two`. */
export const on = (replicas: readonly ReplicaState[]): string =>
  `on ${replicas.map(({ id }) => id).join(' and ')}`;

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

/** A sentence where a notice has reached nobody; else empty. */
export function unheardWords({ deliveries }: Pick<NoticeStory, 'deliveries'>): string {
  if (deliveries.some(({ state }) => state === 'delivered')) return '';
  return deliveries.some(({ state }) => isUnderWay(state))
    ? 'This has reached nobody yet.'
    : 'This has reached nobody.';
}
