import { program } from '../../support/invocation.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import { connectors } from '../../../connectors/index.ts';
import type { Delivery } from '../../model.ts';
import { storiesOf } from '../../store/paging.ts';
import type { EventDetail, Forgotten, Store } from '../../store/store.ts';
import { type Mentions, mentionsOf } from '../../support/candidate-traces.ts';
import { count, firstListed, printable } from '../../support/text.ts';
import {
  readCandidateId,
  command,
  flag,
  note,
  storeOptions,
  TypedArgument,
  type ValuesOf,
} from '../command.ts';
import { CommandError, exit, type Io, needsPerson, when } from '../output.ts';
import { byUser, withStore } from '../with-store.ts';

/** A candidate to forget, with what the store has of them. */
interface Person {
  readonly id: string;
  readonly details: readonly EventDetail[];
  /** How many refused requests name the candidate. */
  readonly requests: number;
}

const declared = {
  ...storeOptions,
  dryRun: flag('--dry-run', 'only show what would be erased, and what the tools have'),
  yes: flag('--yes', 'do not ask, and erase what is pending, too'),
  rewrite: flag(
    '--rewrite',
    "also write SQLite's whole file anew, for what older versions left in unused parts",
  ),
  note: note('why, for the audit; it must not name the candidate'),
};
type ForgetOptions = ValuesOf<typeof declared>;

export const forget = command({
  name: 'forget',
  description: 'erase a candidate from the store, and list what the tools still have',
  examples: [
    'forget 0123456789abcdef0123456789abcdef --dry-run',
    'forget 0123456789abcdef0123456789abcdef --yes --note "request of 3 May"',
  ],
  options: declared,
  argument: new TypedArgument<string>(
    '<candidate>',
    'the candidate id, or the number that messages show',
  ).argParser(readCandidateId),
  run(given, io, candidate) {
    needsPerson(io, given, 'give --dry-run to look, or --yes to erase, with what is pending');
    return withStore(given, io, async (store, local) => {
      const meant = await store.candidatesMeant(candidate, false);
      const ids = 'ids' in meant ? meant.ids : [];
      const people = await Promise.all(
        ids.map(async (id): Promise<Person> => {
          const details = await detailsOf(store, id);
          return { id, details, requests: await store.requestsNaming(mentionsIn({ id, details })) };
        }),
      );
      const details = people.flatMap((person) => person.details);
      if (people.some((person) => mentionsIn(person).without(given.note ?? '') !== (given.note ?? '')))
        throw new CommandError('--note names the candidate, and is kept; say it without', exit.usage);
      if (details.length === 0) await mindWhoIsUnknown(store, candidate);
      for (const person of people) tellWhatIsStored(person, local);
      // Said first: where this ends before it has told what it did, nobody knows it any more.
      const told = tellWhatToolsHave(deliveriesIn(details), io);
      if (given.dryRun) {
        io.out('Nothing was erased (--dry-run).');
        return exit.ok;
      }
      await confirm(candidate, people, given, io);
      const erased: Erasure[] = [];
      for (const { id } of people) erased.push(await erase(store, id, given, io));
      const sum = (what: 'events' | 'rejected' | 'texts') =>
        erased.reduce((total, one) => total + one[what], 0);
      const total = sum('events') + sum('rejected') + sum('texts');
      io.out(total === 0 ? `Nothing was erased: ${isNobody(candidate)}.` : erasedText(sum));
      tellWhatToolsHave(
        erased.flatMap(({ deliveries }) => deliveries),
        io,
        told,
      );
      const spellings = ids.flatMap((id) => mentionsOf(id).spellings);
      io.out(tracesText(await store.traces(spellings, given.rewrite ?? false), given));
      io.out(
        'Backups have it until they are removed. The connector keeps no log; whoever collects its output may.',
      );
      if (details.some(({ event }) => Date.now() - event.receivedAt < repeatsWithinMs))
        io.out(
          'An event came less than an hour ago. If the service repeats it, it counts as a new one: run this again then.',
        );
      return exit.ok;
    });
  },
});

const isNobody = (candidate: string): string => `no event in the store is of ${printable(candidate)}`;

function erasedText(sum: (what: 'events' | 'rejected' | 'texts') => number): string {
  const [events, requests] = [count(sum('events'), 'event'), count(sum('rejected'), 'refused request')];
  return sum('texts') === 0
    ? `Erased: ${events}, and ${requests}.`
    : `Erased: ${events}, ${requests}, and the candidate in ${count(sum('texts'), 'other text')}.`;
}

function mentionsIn({ id, details }: Pick<Person, 'id' | 'details'>): Mentions {
  const numbers = details.flatMap(({ event }) => event.candidateNumericalId ?? []);
  return mentionsOf(id, [...new Set(numbers)]);
}

async function detailsOf(store: Store, candidateId: string): Promise<EventDetail[]> {
  const details: EventDetail[] = [];
  for await (const { event } of storiesOf(store, { candidates: { ids: [candidateId] } })) {
    const detail = await store.event(event.id);
    if (detail) details.push(detail);
  }
  return details;
}

const deliveriesIn = (details: readonly EventDetail[]): Delivery[] =>
  details.flatMap(({ deliveries }) => deliveries);

function tellWhatIsStored({ id: candidate, details, requests }: Person, io: Io): void {
  const whose = `of candidate ${printable(candidate)}`;
  const deliveries = deliveriesIn(details);
  io.out(
    details.length === 0
      ? `The store has no event ${whose}.`
      : `The store has ${count(details.length, 'event')} ${whose}, with ${count(deliveries.length, 'delivery')}:`,
  );
  for (const { event, duplicates } of details) {
    const repeated = duplicates.length === 0 ? '' : `, repeated ${duplicates.length}×`;
    io.out(`  ${when(event.receivedAt, io)}  ${event.status}  test ${event.testId}${repeated}`);
  }
  const pending = deliveries.filter(({ state }) => state === 'pending');
  const tried = pending.filter(({ carrier }) => carrier !== null).length;
  const digests =
    tried === 0
      ? ''
      : ` ${tried} of them in a digest that was tried: where that tells of others, too, nothing is erased until it has ended, or you \`${program} replay\` or \`${program} discard\` it.`;
  if (pending.length > 0)
    io.out(`Of these, ${pending.length} pending: they would not be sent any more.${digests}`);
  if (requests > 0)
    io.out(
      `${count(requests, 'refused request')} ${requests === 1 ? 'names' : 'name'} the candidate, and would be erased.`,
    );
}

/** Lists what was delivered, or may have been, with its place in the tool, apart from the lines `told`. Returns all lines. */
function tellWhatToolsHave(deliveries: readonly Delivery[], io: Io, told: readonly string[] = []): string[] {
  const arrived = deliveries.filter(({ receipt, uncertain }) => receipt !== null || uncertain);
  const lines = arrived.map(({ sink, connector, id, carrier, receipt }) => {
    // A tool knows a digest by its carrier alone.
    const sentAs = carrier ?? id;
    const trace =
      receipt &&
      (connectors.get(connector)?.describe?.trace(receipt, sentAs) ??
        `${sentAs}: ${JSON.stringify(receipt)}`);
    return `  ${sink}: ${printable(trace ?? `may have got it, as ${sentAs}`)}`;
  });
  const news = [...new Set(lines)].filter((line) => !told.includes(line));
  if (news.length > 0) io.out('The tools keep what they were told. Erase it there:');
  for (const line of news) io.out(line);
  return lines;
}

/**
 * Fails where the characters, of which there is no event, are the beginning of ids, or may be a name: refused requests and texts
 * about others would be erased for it. Messages show the beginning of an id.
 */
async function mindWhoIsUnknown(store: Store, candidate: string): Promise<void> {
  const meant = await store.candidatesMeant(candidate);
  if (!('ids' in meant) || meant.ids.some((id) => id !== candidate)) {
    const whole =
      'ids' in meant
        ? firstListed(
            meant.ids.map((id) => `"${printable(id)}"`),
            mostNamed,
          )
        : 'many';
    throw new CommandError(`nothing was erased. These ids begin so: ${whole}. Give the whole id`);
  }
  if (/[\s@]|^\D*$/.test(candidate))
    throw new CommandError(
      `nothing was erased: ${isNobody(candidate)}, and names cannot be searched for. Give the candidate's id, or the number that messages show`,
    );
}

const mostNamed = 5;

async function confirm(candidate: string, people: readonly Person[], { yes }: ForgetOptions, io: Io) {
  if (people.length > 1 && yes)
    throw new CommandError(
      `${people.length} candidates had the number ${candidate}. Name each by the candidateId; nothing was erased`,
    );
  if (!io.ask || yes) return;
  const whom = people.length > 1 ? `all ${people.length} of them ` : '';
  const answer = await io.ask(`Erase ${whom || 'this '}for good? Type ${candidate}: `);
  if (answer.trim().toLowerCase() !== candidate.toLowerCase()) throw new CommandError('nothing was erased');
}

const patientForMs = 30_000;
const lookEveryMs = 200;

type Erasure = Extract<Forgotten, { readonly done: true }>;

/**
 * Erases a candidate. Waits for deliveries under way: else a tool would get a message that nobody knows of any more. What is
 * pending ends first. A digest that was tried and tells of others, too, is waited for.
 */
async function erase(store: Store, candidateId: string, options: ForgetOptions, io: Io): Promise<Erasure> {
  const deadline = performance.now() + patientForMs;
  for (;;) {
    // Read again each time, as an event may have come meanwhile.
    const details = await detailsOf(store, candidateId);
    const eventIds = details.map(({ event }) => event.id);
    const mentions = mentionsIn({ id: candidateId, details });
    const asked = { candidateId, eventIds, mentions };
    const forgotten = await store.forget(asked, await store.now(), byUser(options, io));
    if (forgotten.done) return forgotten;
    if (performance.now() > deadline) {
      throw new CommandError(
        `${forgotten.underWay.join(', ')} is under way, or may have arrived in a digest with others. Wait until it has ended, or \`${program} replay\` or \`${program} discard\` it, which is for all of its digest, and run this again; nothing was erased, and what was pending of this candidate alone goes to nobody`,
      );
    }
    await sleep(lookEveryMs);
  }
}

/** Says what the store's files still have. `found`: in how many places, or why that is not known. */
function tracesText(found: Awaited<ReturnType<Store['traces']>>, { rewrite }: ForgetOptions): string {
  if (found === null)
    return 'PostgreSQL writes over what was deleted only when it needs the room, after its autovacuum. `vacuum full events, deliveries, attempts, duplicates, correlations, rejected_requests, refused_events` does it at once, and locks these tables meanwhile. Standbys and archives of the WAL keep it for as long as they keep anything.';
  if (found === 'being read')
    return "Another process is reading the store's file, such as a backup or a replicator: the -wal keeps the old pages until it has ended. The connector lets go of them then, within ten minutes. To see that nothing is left, run this again.";
  if (found === 0) return "Nothing is left of it in the store's files.";
  return rewrite
    ? `The store's file has these characters in ${count(found, 'other text')}, such as longer ids or the config.`
    : `The store's file still has these characters ${count(found, 'time')}: in other texts, or in unused parts that an older version left. \`${program} forget --rewrite\` writes the whole file anew; events wait meanwhile, for some seconds a GB.`;
}

/** How long after an event the service may repeat it. */
const repeatsWithinMs = 3_600_000;
