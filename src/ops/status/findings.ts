import type { RefusedFile, ReplicaState } from '../../store/store.ts';
import { checkOf, program, shellWord } from '../../support/invocation.ts';
import { count } from '../../support/text.ts';
import { reconcileCommand } from '../refusals.ts';
import type { EmptyLookup } from './empty-lookups.ts';
import type { Status } from './status.ts';
import { byConfig, configsDiffer, on } from './words.ts';

/** Something that a status has to tell, for commands and pages alike. */
export interface Finding {
  /** What is the matter, without a full stop. Numbers are times (ms). */
  readonly title: readonly (string | number)[];
  /** What more is known of it. It stands behind a colon. */
  readonly detail?: string;
  /** What follows from it, and what helps: sentences with commands in backticks. */
  readonly then: readonly string[];
}

/** What a status has to tell of the connector and its store; empty where that is in order. */
export const findings = {
  served({ replicas, lastReplica, unwritable }) {
    if (replicas.length > 0) return [];
    if (lastReplica === null)
      return [
        { title: ['No connector has served this store yet'], then: [`\`${program} serve\` starts one.`] },
      ];
    const { saidAt, stopped } = lastReplica;
    const title = stopped
      ? ['No connector serves this store; the last one was stopped at ', saidAt]
      : ['No connector is known to serve this store; the last sign of life was at ', saidAt];
    const start = `${stopped ? 'start it' : `unless it runs, start it`}; the end of its log, or \`${program} check\`, says what keeps it from that`;
    const why =
      unwritable === null
        ? 'It was killed, stands still, or runs and cannot write it, as on a disk that keeps its last room for root.'
        : 'It was killed, stands still, or could note neither its stop nor that it runs.';
    const then = unwritable === null ? start : 'the store has to be put right first, as below';
    return [{ title, then: [...(stopped ? [] : [why]), `Events that come now may be lost: ${then}.`] }];
  },

  unwritable({ unwritable, replicas }) {
    if (unwritable === null) return [];
    const then =
      replicas.length > 0
        ? 'Until it can, events are refused, or soon will be: the service sends each of them once more. Once it can, all goes on without a restart.'
        : 'Put that right, on a full disk by making room; then start the connector, but for one that runs: it goes on by itself.';
    return [{ title: ['The store cannot be written'], detail: unwritable, then: [then] }];
  },

  unsent({ unsent }) {
    if (unsent === null) return [];
    const then = 'Events are stored meanwhile. Once that is put right, all is sent without a restart.';
    return [{ title: ['What waits cannot be sent'], detail: unsent, then: [then] }];
  },

  rescued({ rescued }) {
    if (rescued === null) return [];
    const list = `${program} events --store`;
    return [
      {
        title: ['The store was replaced while it was in use'],
        detail: `what was accepted shortly before that may be in ${rescued} alone, and what came since is in the store alone`,
        then: [
          `\`${list} ${shellWord(`sqlite:${rescued}`)}\` lists it. To go on with that file, stop the connector, move the store to another folder and put the file in its place; else move the file there.`,
          `What only the moved one has is taken in from what \`${list} sqlite:MOVED --csv\` prints: \`${program} reconcile moved.csv --candidate candidateId --test testId --status status --at receivedAt --accept\``,
        ],
      },
    ];
  },

  moved({ movedAt }) {
    if (movedAt === null) return [];
    return [
      {
        title: ['PostgreSQL was promoted, restored or moved at ', movedAt],
        detail:
          'what it was told last may be missing, events as well as what people did (a pause, a discard)',
        then: [`Look at that again. Of events, an export of the service tells: \`${reconcileCommand()}\``],
      },
    ];
  },

  absent({ absences }) {
    if (absences.length === 0) return [];
    const times = absences.flatMap(({ from, to }, index) => [
      `${index === 0 ? '' : ', and '}from `,
      from,
      ' to ',
      to,
    ]);
    return [
      {
        title: ['No connector served this store ', ...times],
        detail: 'events of that time are not in it, and the service does not send them again',
        then: [`An export of it tells which: \`${reconcileCommand()}\``],
      },
    ];
  },

  unread({ unread }) {
    if (unread === 0) return [];
    return [
      {
        title: [`The last ${unread} events could not be read`],
        detail: 'nobody was told of them',
        then: [
          'The service may have changed what it sends, or something on the way changes it. It is over with the next event that can be read.',
          `\`${program} events --rejected\` says what was wrong; \`${reconcileCommand()} --accept\` takes them in from an export of the service.`,
        ],
      },
    ];
  },

  broken: ({ replicas }) => refusedConfigs(replicas, true),
  config: ({ replicas }) => refusedConfigs(replicas, false),

  restart: ({ replicas }) =>
    byDetail(replicas, 'These changed keys wait for a restart', ({ waiting }) => waiting.join(', ')),

  closed: ({ replicas }) => byDetail(replicas, 'The admin port lets nobody in', ({ closed }) => closed ?? ''),

  /** While the files of all are changed, it is so for a moment. */
  differ({ replicas }) {
    if (!configsDiffer({ replicas })) return [];
    const detail = byConfig(replicas).map((same) => `${same[0]!.config.file} ${on(same)}`);
    return [
      {
        title: ['The replicas run different configs'],
        detail: detail.join(', '),
        then: [
          'Until all have the same, each event is decided by that of the replica that takes it, and goes where that of the replica that calls the sink says.',
          'Where the files are the same, other variables or secrets are read into them; or two connectors use one store, where each needs its own.',
        ],
      },
    ];
  },

  /** Look-ups that do not find any more what they found. */
  empty: ({ emptyLookups }) => emptyLookups.filter(({ didFind }) => didFind).map(emptyFinding),

  /** Look-ups that never found it. Nobody may be needed, as not every API has something about everybody. */
  neverFound: ({ emptyLookups }) => emptyLookups.filter(({ didFind }) => !didFind).map(emptyFinding),

  failing: ({ failing }) =>
    failing.map(({ sink, count: many, firstAt, reason }) => ({
      title: [
        `${count(many, 'message')} to ${sink} ${many === 1 ? 'has' : 'have'} failed for an hour, while others go out; the first at `,
        firstAt,
      ],
      detail: reason,
      then: [`\`${program} events --state pending --sink ${shellWord(sink)}\` lists all that wait.`],
    })),
} as const satisfies { readonly [kind in string]: (status: Status) => Finding[] };

/** What is wrong with the files of the replicas. */
function refusedConfigs(replicas: readonly ReplicaState[], inForce: boolean): Finding[] {
  const alike = Map.groupBy(
    replicas.filter(({ config: { refused } }) => refused && Boolean(refused.isInForce) === inForce),
    ({ config: { file, refused } }) => `${file} ${refused!.problem}`,
  );
  return Array.from(alike.values(), (same) => {
    const { file, refused } = same[0]!.config;
    const { problem, others } = refused!;
    const onSome = onIfSome(same, replicas);
    const check = replicas.length === 1 ? `${program} check` : checkOf(file);
    return {
      title: inForce
        ? [`The config in force breaks a policy${onSome}`]
        : ['The changed config was refused at ', refusedAt(refused!), onSome],
      detail: problem + (others > 0 ? ` (and ${count(others, 'more problem')})` : ''),
      then: [
        ...(inForce ? [] : ['The one before stays in force.']),
        `\`${check}\`${onSome === '' ? '' : ' there'} shows all that is wrong.`,
      ],
    };
  });
}

/** When a changed config was refused as it is now (ms); an older version kept only since when. */
const refusedAt = ({ since, lastAt = since }: RefusedFile): number => lastAt;

/** A finding for each detail that configs have, other than an empty one. */
const byDetail = (
  replicas: readonly ReplicaState[],
  title: string,
  detailOf: (config: ReplicaState['config']) => string,
): Finding[] =>
  Array.from(Map.groupBy(replicas, ({ config }) => detailOf(config)))
    .filter(([detail]) => detail !== '')
    .map(([detail, same]) => ({ title: [title + onIfSome(same, replicas)], detail, then: [] }));

/** Where it is so, if not on all replicas. */
const onIfSome = (some: readonly ReplicaState[], all: readonly ReplicaState[]): string =>
  some.length === all.length ? '' : ` ${on(some)}`;

/** What a look-up does not find. */
function emptyFinding({ lookup, calls, fields, detail, didFind }: EmptyLookup): Finding {
  const what =
    fields === null
      ? `calls of ${lookup} found what it asks for: ${detail.replace(/\.$/, '')}`
      : `answers of ${lookup} had ${fields.join(' or ')}, or not of the type that the config wants`;
  const wrong = fields === null ? 'the url' : 'the API has changed, or an "at" or a "type"';
  return {
    title: [`None of the last ${calls} ${what}${didFind ? '; earlier ones did' : ''}`],
    then: [
      `If ${wrong} was wrong: once it is right, \`${program} lookup --absent --since 24h --wait\` asks again, and says what to apply.`,
    ],
  };
}
