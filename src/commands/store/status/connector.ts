import { refusedAt } from '../../../ops/needs.ts';
import { reconcileCommand } from '../../../ops/refusals.ts';
import type { Status } from '../../../ops/status/status.ts';
import { configsDiffer, differWords, gapsIn, rescuedWords, whyDiffer } from '../../../ops/status/words.ts';
import type { ReplicaState } from '../../../store/store.ts';
import { checkOf, program } from '../../../support/invocation.ts';
import { count, printable } from '../../../support/text.ts';
import { type Io, paint, when } from '../../output.ts';

/** Says why the store cannot be written or what waits cannot be sent, and what to do; a connector that does not run has to be started. */
export function storeLines(status: Status, io: Io): string[] {
  const { unwritable, unsent, rescued, replicas } = status;
  if (unwritable === null) {
    const gaps = [
      ...rescuedLines(rescued),
      ...gapsIn(status).map(({ what, after }) => {
        const words = what.map((part) => (typeof part === 'string' ? part : when(part, io))).join('');
        return `${words}: ${after}: ${reconcileCommand()}`;
      }),
    ];
    if (unsent === null) return gaps;
    const then = 'events are stored meanwhile; once that is put right, all is sent without a restart';
    return [`what waits cannot be sent: ${printable(unsent)}`, `  ${then}`, ...gaps];
  }
  const then =
    replicas.length > 0
      ? 'events are refused meanwhile; once it can be written, all goes on without a restart'
      : 'put that right, on a full disk by making room; then start the connector, but for one that runs: it goes on by itself';
  return [printable(unwritable), `  ${then}`];
}

function rescuedLines(file: string | null): string[] {
  if (file === null) return [];
  const { what, then } = rescuedWords(file);
  const lines = [`the store was replaced while it was in use: ${what}`, ...then.map((line) => `  ${line}`)];
  return lines.map(printable);
}

export function configLines({ replicas, lastReplica, unwritable }: Status, io: Io): string[] {
  if (replicas.length === 0) {
    if (lastReplica === null)
      return [`No connector has served this store yet. \`${program} serve\` starts one.`];
    const at = when(lastReplica.saidAt, io);
    const seen = `The last sign of life was at ${at}: it was killed, stands still,`;
    const what = lastReplica.stopped
      ? `No connector serves this store. The last one was stopped at ${at}.`
      : unwritable === null
        ? `No connector is known to serve this store. ${seen} or runs and cannot write it, as on a disk that keeps its last room for root.`
        : `No connector is known to serve this store. ${seen} or could note neither its stop nor that it runs.`;
    const how =
      unwritable === null
        ? `${lastReplica.stopped ? '' : 'unless it runs, '}start it; the end of its log, or \`${program} check\`, says what keeps it from that`
        : 'the store has to be put right first, as below';
    return [what, `  events that come now may be lost: ${how}`];
  }
  const check = (file: string) => (replicas.length > 1 ? `there, ${checkOf(file)}` : `${program} check`);
  const shown = (replica: ReplicaState) => replicaLines(replica, check, io).join('\n  ');
  // Those that were started at another time say the same.
  const newestFirst = replicas.toSorted((a, b) => b.config.since - a.config.since);
  const alike = Map.groupBy(
    newestFirst,
    ({ config, ...rest }) =>
      `${config.id} ${config.callsBy} ${shown({ ...rest, config: { ...config, since: 0 } })}`,
  );
  const byOf = (same: readonly ReplicaState[]) =>
    alike.size === 1
      ? `${same.length} replicas, all by this config`
      : `by ${same.map(({ id }) => printable(id)).join(' and ')}`;
  return replicas.length === 1
    ? replicas.map(shown)
    : [
        ...alike.values().flatMap((same) => [shown(same[0]!), byOf(same)]),
        ...(configsDiffer({ replicas }) ? [`These configs differ: ${differWords}. ${whyDiffer}`] : []),
      ];
}

function replicaLines(
  { config: { file, since, refused, waiting, closed = null } }: ReplicaState,
  check: (file: string) => string,
  io: Io,
): string[] {
  const lines = [`${printable(file)}, in force since ${when(since, io)}`];
  if (refused !== null) {
    const more = refused.others === 0 ? '' : ` (and ${count(refused.others, 'more problem')})`;
    const what = refused.isInForce
      ? 'it breaks a policy'
      : `the file as it is now was refused at ${when(refusedAt(refused), io)}`;
    lines.push(
      `${what}: ${printable(refused.problem)}${more}`,
      `correct it; ${check(file)} shows all that is wrong`,
    );
  }
  if (waiting.length > 0) lines.push(`changed, and in force at the next start: ${waiting.join(', ')}`);
  if (closed !== null) lines.push(paint(io, 'red', `the admin port lets nobody in: ${closed}`));
  return lines;
}
