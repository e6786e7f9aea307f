import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openStore } from '../../src/store/open.ts';
import { StoreUnavailable, type EventStory, type Store } from '../../src/store/store.ts';
import { arrival, configId } from '../contract/store-fixtures.ts';
import type { Call, Fault } from '../../sandbox/faults.ts';
import { TestingService } from '../../sandbox/testing-service.ts';
import type { PostedMessage } from '../../sandbox/slack.ts';
import { startTools, type Tools } from '../../sandbox/tools.ts';
import { type PostgresServer, sql } from '../fixtures/postgres.ts';
import { clusterOf } from './cluster.ts';
import { ConnectorProcess } from './connector-process.ts';
import { begunByClaim, lookedUp, lookupBreaches } from './lookups.ts';
import { SheetPerson } from './person.ts';
import { seeded } from './random.ts';
import { nameOf, Sender, type SentEvent } from './sender.ts';

export interface RoundReport {
  readonly seed: number;
  readonly kills: number;
  readonly sent: number;
  readonly accepted: number;
  readonly stored: number;
  /** Deliveries that a mailbox or an endpoint got more than once, each time under the same id. */
  readonly repeats: { readonly mail: number; readonly webhook: number };
  /** Accepted and not in the store: only where a standby that took over lacked the last commits. */
  readonly lost: number;
  /** How often somebody edited the sheet between two calls. */
  readonly edits: number;
  /** Everything that breaks the promise, in words. Empty if it was kept. */
  readonly breaches: readonly string[];
  /** Where its store and its log are, if it broke the promise. Empty otherwise. */
  readonly kept: string;
}

/** Slack and Google are asked what arrived as often as they allow, which is about once a second. */
const noProgressForMs = 480_000;
/** Beyond the retention, so that a clock that is believed deletes what is delivered. */
const jumpMs = 400 * 86_400_000;
/** Two rounds of it, by timers that run fast. */
const retentionMs = 1500;
/** Each has a channel and a tab of its own, so that there are lanes beside each other. */
const tests = 4;

/** Each candidate takes two tests. What comes of the second waits for what is looked up for the first. */
const nthEvent = (seed: number, n: number): SentEvent => ({
  candidateId: `candidate-${seed}-${Math.floor(n / 2)}`,
  testId: n % tests,
});

/**
 * Kills the connector at random moments while 200 events a second come in, or as told, and every tool now and then fails, hangs, or
 * carries out a call and drops its answer, and somebody edits the sheet. A file of its store vanishes once, or `server` crashes, where
 * the store is in PostgreSQL. At its last start the clock may be far ahead, and whoever reads the log may go away. Then it
 * lets all end, and looks whether the promise was kept.
 */
export async function runRound(
  seed: number,
  server: PostgresServer | null = null,
  betweenMs?: number,
): Promise<RoundReport> {
  const { random, folder, tools, api } = await prepared(seed);
  const storeUrl = server ? `${server.url()}?schema=round_${seed}` : `sqlite:${folder}/connector.db`;
  const jumps = seed % 2 === 0;
  const person = new SheetPerson(tools.sheets, seeded(seed + 1_000_000));
  const configFile = join(folder, 'config.yaml');
  await writeFile(configFile, configText(storeUrl, tools, api, jumps ? 8 : 1));
  const past = await keepPast(storeUrl);
  const connector = new ConnectorProcess(configFile, tools.env);
  let url = `${await connector.start()}/hook`;
  const sender = new Sender(() => url, betweenMs);
  const sending = sender.run((n) => nthEvent(seed, n));
  const kills = 1 + Math.floor(random() * 3);
  const vanishing = Math.floor(random() * kills);
  const unseen: string[] = [];
  try {
    for (let kill = 0; kill < kills; kill += 1) {
      await sleep(150 + random() * 600);
      if (kill === vanishing && server) await server.crash().then(() => server.start());
      else if (kill === vanishing)
        unseen.push(...(await vanish(connector, `${folder}/connector.db`, random)));
      await connector.kill();
      if (jumps && kill === kills - 1) jump(connector, tools);
      url = `${await connector.start()}/hook`;
      if (random() < 0.5) connector.closeStdout();
    }
    // From here on the sheet answers: what was written over when an answer is lost is known to nobody.
    tools.sheets.faults.decide = () => null;
    await sleep(200);
    person.isCareful = false;
    await sleep(400);
    sender.stop();
    await sending;
    const all = await drained(storeUrl, jumps ? retentionMs : 0);
    const stories = all.filter(({ event }) => event.id !== past);
    const notes = await notesOf(storeUrl, stories);
    const code = await connector.stop();
    const stored = stories.map(({ event }) => event.id).toSorted();
    const breaches = [
      ...unseen,
      ...findBreaches(stories, sender.accepted, tools),
      ...lastBreaches(stories, tools, stored),
      ...(stories.length < all.length ? [] : ['what came ten days ago was deleted']),
      ...boardBreaches(stories, tools, notes),
      ...lookupBreaches(stories, begunByClaim, stored),
      ...personBreaches(person, notes),
      ...(code === 0 ? [] : [`SIGTERM gave exit code ${code}`]),
    ];
    return {
      seed,
      kills,
      sent: sender.sent,
      accepted: sender.accepted.length,
      stored: stories.length,
      lost: 0,
      edits: person.edits,
      repeats: { mail: repeats(tools.received.mail()), webhook: repeats(tools.received.webhook()) },
      breaches,
      kept: await keptIfBroken(folder, breaches, [connector]),
    };
  } finally {
    sender.stop();
    await connector.kill();
    await Promise.all([tools.close(), api.close()]);
    await removeUnlessKept(folder);
  }
}

const logFile = 'log.txt';

/** The folder, with what the processes logged, where a promise was broken: it may never happen so again. */
async function keptIfBroken(
  folder: string,
  breaches: readonly string[],
  connectors: readonly ConnectorProcess[],
): Promise<string> {
  if (breaches.length === 0) return '';
  await writeFile(join(folder, logFile), connectors.flatMap(({ lines }) => lines).join('\n'));
  return folder;
}

async function removeUnlessKept(folder: string): Promise<void> {
  if (!existsSync(join(folder, logFile))) await rm(folder, { recursive: true });
}

/** A folder, and tools that fail now and then. */
async function prepared(seed: number) {
  const random = seeded(seed);
  const folder = await mkdtemp(join(tmpdir(), 'faults-'));
  const channels = Array.from({ length: tests }, (_, testId) => `team-${testId}`);
  const tools = await startTools({ slack: { channels } });
  for (const faults of tools.faults) faults.decide = randomFaults(random);
  onlySending(tools);
  const api = await new TestingService({ callsPerMinute: 1_000_000 }).start();
  api.faults.decide = randomFaults(seeded(seed + 2_000_000));
  return { random, folder, tools, api };
}

const behindMs = 600_000;
/** Beyond the time that a lease runs for. */
const stillMs = 14_000;
const betweenCopiesMs = 400;
/** A replica stands still for long, and all has to be delivered afterwards. */
const betweenEventsMs = 200;
/** So that something is always under way when commits are lost. */
const betweenMoreMs = 100;
/** No replica corrects its clock for less. */
const clocksApartMs = 1000;
/** After the last fault, while connections still break. */
const calmMs = 3000;

/**
 * The same with several replicas on one PostgreSQL. Replicas are killed, or stand still for longer than their leases run, and
 * the server crashes or its standby takes over, in turn. The clock of one may be behind. What a replica that stood still had begun is over by its time-out, or by the end of its lease.
 */
export async function runRoundOfCopies(
  seed: number,
  count: number,
  server: PostgresServer,
  betweenMs = betweenEventsMs,
): Promise<RoundReport> {
  const { random, folder, tools, api } = await prepared(seed);
  const cluster = await clusterOf(seed, server, seeded(seed + 1_000_000));
  const storeUrl = `${cluster.url}?schema=round_${seed}`;
  const configFile = join(folder, 'config.yaml');
  // In every other round an attempt may take longer than a lease runs.
  await writeFile(configFile, configText(storeUrl, tools, api, seed % 2 === 1 ? 16 : 1));
  const replicas = Array.from({ length: count }, () => new ConnectorProcess(configFile, tools.env));
  if (random() < 0.5) replicas[0]!.clockAheadMs = -behindMs;
  const urls = (await Promise.all(replicas.map(startedAtLast))).map((url) => `${url}/hook`);
  let turn = 0;
  const between = cluster.losesCommits ? betweenMoreMs : betweenMs;
  const sender = new Sender(() => urls[(turn += 1) % urls.length]!, between);
  const sending = sender.run((n) => nthEvent(seed, n));
  const kills = 1 + Math.floor(random() * 3);
  const faults = Array.from({ length: kills }, () => Math.floor(random() * 4));
  faults[Math.floor(random() * kills)] = 0;
  try {
    for (const fault of faults) {
      await sleep(300 + random() * 1000);
      const victim = Math.floor(random() * count);
      if (fault === 0) await cluster.fail();
      else if (fault === 1) await standStill(replicas[victim]!);
      else {
        await replicas[victim]!.kill();
        await sleep(random() * betweenCopiesMs);
        urls[victim] = `${await startedAtLast(replicas[victim]!)}/hook`;
      }
    }
    await sleep(calmMs);
    sender.stop();
    await sending;
    cluster.calm();
    const stories = await drained(storeUrl, 0);
    const codes = await Promise.all(replicas.map((replica) => replica.stop()));
    const stored = await storedOrder(cluster.servers, seed);
    const lost = cluster.losesCommits ? notStored(stories, sender.accepted) : [];
    const breaches = [
      ...findBreaches(
        stories,
        sender.accepted.filter((id) => !lost.includes(id)),
        tools,
        cluster.losesCommits,
      ),
      ...lastBreaches(stories, tools, stored, cluster.losesCommits),
      ...boardBreaches(stories, tools, []),
      ...lookupBreaches(stories, begunByCall(tools, cluster.forgottenUntil()), stored),
      ...codes.filter((code) => code !== 0).map((code) => `SIGTERM gave exit code ${code}`),
    ];
    const repeated = { mail: repeats(tools.received.mail()), webhook: repeats(tools.received.webhook()) };
    const { sent, accepted } = sender;
    return {
      seed,
      kills,
      sent,
      accepted: accepted.length,
      stored: stories.length,
      lost: lost.length,
      edits: 0,
      repeats: repeated,
      breaches,
      kept: await keptIfBroken(folder, breaches, replicas),
    };
  } finally {
    sender.stop();
    await Promise.all(replicas.map((replica) => replica.kill()));
    await cluster.remove();
    await Promise.all([tools.close(), api.close()]);
    await removeUnlessKept(folder);
  }
}

/** As who keeps it running does: a start ends where the database does not answer it. */
async function startedAtLast(replica: ConnectorProcess): Promise<string> {
  const until = Date.now() + noProgressForMs;
  for (;;) {
    try {
      return await replica.start();
    } catch (error) {
      if (!String(error).includes('the store cannot be used') || Date.now() > until) throw error;
      await sleep(200);
    }
  }
}

async function standStill(replica: ConnectorProcess): Promise<void> {
  process.kill(replica.pid!, 'SIGSTOP');
  await sleep(stillMs);
  process.kill(replica.pid!, 'SIGCONT');
}

/**
 * Without faults from then on, and with patience: what is begun by a wrong clock and answered too late is not found in
 * Slack, which is asked for what came since.
 */
function jump(connector: ConnectorProcess, tools: Tools): void {
  connector.clockAheadMs = jumpMs;
  tools.sheets.tokens.aheadMs = jumpMs;
  for (const faults of tools.faults) faults.decide = () => null;
}

/** A person tidies up beside a running connector. It ends by itself, and what it answered has to be there. */
async function vanish(connector: ConnectorProcess, path: string, random: () => number): Promise<string[]> {
  const names = [['-wal'], ['-shm'], ['-wal', '-shm'], ['']][Math.floor(random() * 4)] ?? [];
  await Promise.all(names.map((name) => rm(`${path}${name}`)));
  const code = await connector.ended();
  const rescued = (await readdir(dirname(path))).find((name) => name.includes('.rescued-'));
  if (rescued !== undefined) await rename(join(dirname(path), rescued), path);
  return code === 1 ? [] : [`without ${names.join(' and ')} it ended with exit code ${code}`];
}

/** One hang for each tool at most: it costs a whole time-out, and a round has to end. */
function randomFaults(random: () => number): (call: Call) => Fault | null {
  let hangs = 0;
  return ({ name }) => {
    const roll = random();
    if (roll < 0.05) return { kind: 'drop', commit: true };
    if (roll < 0.08) return { kind: 'drop', commit: false };
    if (roll < 0.11) return { kind: 'status', status: 503, commit: name !== 'DATA' && roll < 0.095 };
    if (roll > 0.115 || hangs === 1) return null;
    hangs += 1;
    return { kind: 'hang', commit: random() < 0.5 };
  };
}

/** SMTP's small steps would otherwise fail so often that no mail gets through. */
function onlySending({ smtp }: Tools): void {
  smtp.faults.only = ['DATA'];
}

function configText(storeUrl: string, tools: Tools, api: TestingService, timeoutS: number): string {
  const often = `retry: { minDelay: 50ms, maxDelay: 500ms, giveUpAfter: 1000d }, timeout: ${timeoutS}s`;
  // It is crashes that are tried here and not patience.
  const fast = `${often}, rate: 500/s`;
  return `
receiver: { host: 127.0.0.1, port: 0, path: /hook, allowFrom: any }
store: { url: "${storeUrl}" }
admin: { port: 0 }
sinks:
  slack: { connector: slack, token: "\${SLACK_BOT_TOKEN}", apiUrl: "${tools.slack.url}", ${fast} }
  sheet: { connector: google-sheets, spreadsheetId: "${tools.sheets.spreadsheetId}", credentials: "\${GOOGLE_CREDENTIALS}", apiUrl: "${tools.sheets.url}", ${fast.replace('timeout: 1s', 'timeout: 5s')} }
  mail: { connector: email, url: "\${SMTP_URL}", from: hiring@example.com, ${often} }
  ats: { connector: webhook, url: "${tools.http.url}", secret: "\${ATS_SECRET}", allowPrivate: true, ${often} }
lookups:
  candidate:
    url: "${api.url}/candidates/{{ event.candidateId }}"
    auth: { oauth2: { tokenUrl: "${api.url}/token", grant: password, username: ${api.username}, password: ${api.password} } }
    when: { testId: ${lookedUp} }
    fields: { name: { at: /name, personal: true }, score: { at: /result/score, type: number } }
    waitFor: 20s
    allowPrivate: true
    retry: { minDelay: 50ms, maxDelay: 500ms }
    timeout: ${timeoutS}s
rules:
  - name: all
    when: {}
    then:
      - { sink: slack, channel: "#team-{{ event.testId }}", text: "{{ event.candidateId }}" }
      - { sink: sheet, tab: "Test {{ event.testId }}", row: { Candidate: "{{ event.candidateId }}" } }
      - { sink: mail, to: ops@example.com, subject: "{{ event.candidateId }}", text: "completed: {{ candidate.name | default: 'somebody' }}" }
      - { sink: ats }
      - { sink: sheet, tab: Board, key: Team, row: { Team: "team {{ event.testId }}", Last: "{{ event.candidateId }}" } }
      - { sink: slack, channel: "#team-{{ event.testId }}", updateBy: last, text: "{{ event.candidateId }}" }
`;
}

/** An event that came ten days ago and asked for nothing. Returns its id. */
async function keepPast(url: string): Promise<string> {
  const store = await openStore(url, { serve: false });
  const receivedAt = Date.now() - 10 * 86_400_000;
  await store.saveConfig({ id: configId, source: {}, savedAt: receivedAt });
  const { eventId } = await store.accept(arrival({ receivedAt }, { deliveries: [] }));
  await store.keepSignOfLife({ seenAt: Date.now(), doubt: null });
  await store.close();
  return eventId;
}

/** Waits until nothing is left to deliver, and for so long after it; gives every stored event. */
async function drained(url: string, forMs: number): Promise<EventStory[]> {
  const store = await patiently(() => openStore(url, { serve: false }));
  try {
    let fewest = Infinity;
    let until = 0;
    for (;;) {
      const left = await patiently(() => leftOf(store));
      if (left < fewest) until = Date.now() + noProgressForMs;
      fewest = Math.min(left, fewest);
      if (left === 0 || Date.now() > until) break;
      await sleep(50);
    }
    await sleep(forMs);
    return await patiently(() => store.events({ limit: 1_000_000 }));
  } finally {
    await store.close();
  }
}

/** Asks a store again for as long as it is away: a server that crashed may take a while to answer on a busy machine. */
async function patiently<T>(ask: () => Promise<T>): Promise<T> {
  const until = Date.now() + noProgressForMs;
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof StoreUnavailable) || Date.now() > until) throw error;
      await sleep(200);
    }
  }
}

/** Events that wait for look-ups, and deliveries that are not over. */
async function leftOf(store: Store): Promise<number> {
  const { undecided } = await store.eventCounts();
  const counts = await store.counts();
  return counts.reduce((sum, { states }) => sum + states.pending + states.sending, undecided);
}

/** The ids of events, as a server has them that lives. */
async function storedOrder(servers: readonly string[], seed: number): Promise<string[]> {
  for (const url of servers) {
    const rows = await sql(url, `select id from round_${seed}.events order by seq`).catch(() => []);
    if (rows.length > 0) return rows.map(({ id }) => String(id));
  }
  throw new Error('no server can be asked for the order of events');
}

/**
 * By the webhook that was called: the commit of a claim may take seconds where a server fails. Calls before `since` do not
 * count: the look-ups before them may be lost with the server, and are made again.
 */
function begunByCall({ http }: Tools, since: number) {
  const calls = http.calls.filter(({ at }) => at >= since);
  const firstCalls = new Map(calls.toReversed().map(({ deliveryId, at }) => [deliveryId, at]));
  return { at: ({ id }: { readonly id: string }) => firstCalls.get(id), apartMs: clocksApartMs };
}

function notStored(stories: readonly EventStory[], accepted: readonly string[]): string[] {
  const stored = new Set(stories.map(({ event }) => nameOf(event)));
  return accepted.filter((name) => !stored.has(name));
}

/** `losesEvents`: what was sent for those that were lost is known to nobody. */
function findBreaches(
  stories: readonly EventStory[],
  accepted: readonly string[],
  tools: Tools,
  losesEvents = false,
): string[] {
  const byName = Map.groupBy(stories, ({ event }) => nameOf(event));
  const deliveries = stories.flatMap((story) => story.deliveries);
  return [
    ...notStored(stories, accepted).map((id) => `${id} was accepted and is not in the store`),
    ...[...byName].filter(([, same]) => same.length > 1).map(([id]) => `${id} became more than one event`),
    ...stories
      .filter((story) => story.deliveries.length !== 6)
      .map(({ event }) => `${event.id} has not six deliveries`),
    ...sheetBreaches(stories, tools, losesEvents),
    ...deliveries
      .filter(({ state }) => state !== 'delivered')
      .map(({ id, state, lastError }) => `${id} is ${state}: ${lastError}`),
    ...wrongCounts('slack', postedOnce(tools), (count) => count === 1),
    ...wrongCounts('sheet', addedIds(tools), (count) => count === 1),
    ...wrongCounts('mail', tools.received.mail(), (count) => count >= 1),
    ...wrongCounts('ats', tools.received.webhook(), (count) => count >= 1),
  ];

  function wrongCounts(
    sink: string,
    received: readonly string[],
    right: (count: number) => boolean,
  ): string[] {
    const counts = countsOf(received);
    const ids = new Set(
      deliveries.filter((delivery) => delivery.sink === sink && delivery.action < board).map(({ id }) => id),
    );
    return [
      ...[...ids]
        .filter((id) => !right(counts.get(id) ?? 0))
        .map((id) => `${sink} has ${id} ${counts.get(id) ?? 0} times`),
      ...[...counts]
        .filter(([id, count]) => !ids.has(id) && !(losesEvents && right(count)))
        .map(([id]) => `${sink} has ${id}, which nobody asked for`),
    ];
  }
}

/** The action that updates a row by its key, where only the newest delivery's id stays. */
const board = 4;

/** The last action edits one message of its channel, which stays marked by the delivery that posted it. */
const isLast = (message: PostedMessage): boolean => 'thread' in (message.metadata?.event_payload ?? {});

const postedOnce = ({ slack }: Tools): string[] =>
  slack.messages
    .filter((message) => !isLast(message))
    .map(({ metadata }) => String(metadata?.event_payload['delivery_id']));

/**
 * Each channel has one message that says which event was stored last: while a server is away, replicas keep what has its id
 * already. A new message is right where its receipt was lost.
 */
function lastBreaches(
  stories: readonly EventStory[],
  { slack }: Tools,
  stored: readonly string[],
  losesEvents = false,
): string[] {
  const places = new Map(stored.map((id, place) => [id, place]));
  const placeOf = ({ event }: EventStory): number => places.get(event.id)!;
  const byChannel = Map.groupBy(stories, ({ event }) => `team-${event.testId}`);
  return [...byChannel].flatMap(([channel, of]) => {
    const { event } = of.toSorted((a, b) => placeOf(b) - placeOf(a))[0]!;
    const messages = slack.messages.filter((one) => one.channelName === channel && isLast(one));
    const isOne = messages.length === 1 || (losesEvents && messages.length > 1);
    const isRight = isOne && messages.at(-1)!.text === event.candidateId;
    return isRight
      ? []
      : [`${channel}, last ${event.candidateId}, says ${messages.map(({ text }) => text).join(', ')}`];
  });
}

const testTabs = ({ sheets }: Tools) => sheets.tabs().filter((title) => title.startsWith('Test'));

function addedIds(tools: Tools): string[] {
  const rows = testTabs(tools).flatMap((tab) => tools.sheets.rows(tab));
  return rows.map((row) => String(row['Delivery'] ?? '')).filter((id) => id !== '');
}

/** Rows whose values are not under their own headers, or with more than their own. */
function sheetBreaches(stories: readonly EventStory[], tools: Tools, losesEvents: boolean): string[] {
  const candidates = new Map(
    stories.flatMap(({ event, deliveries }) => deliveries.map(({ id }) => [id, event.candidateId])),
  );
  const rows = testTabs(tools).flatMap((tab) => tools.sheets.rows(tab));
  return rows.flatMap((row) => {
    const { Delivery = '', Candidate = '', ...others } = row;
    const strays = Object.values(others).filter((cell) => cell !== '' && !String(cell).startsWith('typed'));
    const candidate = candidates.get(String(Delivery)) ?? (losesEvents ? Candidate : '');
    const isRight = candidate === Candidate && strays.length === 0;
    return isRight ? [] : [`the sheet has a row ${JSON.stringify(row)}`];
  });
}

/** Each team has one row, as the newest delivery left it. */
function boardBreaches(stories: readonly EventStory[], tools: Tools, notes: readonly string[]): string[] {
  const rows = tools.sheets.rows('Board').filter(({ Team = '' }) => Team !== '');
  const byTeam = Map.groupBy(stories, ({ event }) => `team ${event.testId}`);
  return [...byTeam].flatMap(([team, of]) => {
    const newest = of.toSorted((a, b) => (a.event.id < b.event.id ? 1 : -1))[0]!;
    const theirs = rows.filter((row) => row['Team'] === team);
    const [row] = theirs;
    const isRight =
      theirs.length === 1 &&
      row!['Last'] === newest.event.candidateId &&
      row!['Delivery'] === newest.deliveries.find(({ action }) => action === board)?.id;
    const told = [...new Set(notes)].join(' | ');
    return isRight
      ? []
      : [`${team}, last ${newest.event.candidateId}, is ${JSON.stringify(theirs)}; notes: ${told}`];
  });
}

/** Nothing that somebody typed is gone, but for what was written over where rows are updated, and told. */
function personBreaches(person: SheetPerson, notes: readonly string[]): string[] {
  const isTold = notes.some((note) => note.includes('may be lost') || note.includes('gone since'));
  const missing = person.missing().filter(({ tab }) => tab !== 'Board' || !isTold);
  return missing.map(({ tab, text }) => `somebody's "${text}" in ${tab} is gone, and no delivery says so`);
}

/** What deliveries tell of their rows. */
async function notesOf(url: string, stories: readonly EventStory[]): Promise<string[]> {
  const store = await openStore(url, { serve: false });
  try {
    const details = await Promise.all(stories.map(({ event }) => store.event(event.id)));
    const attempts = details.flatMap((detail) => detail!.deliveries.flatMap(({ history }) => history));
    return attempts.flatMap(({ outcome }) =>
      outcome.outcome === 'delivered' && outcome.note !== undefined ? [outcome.note] : [],
    );
  } finally {
    await store.close();
  }
}

function countsOf(ids: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const id of ids) counts.set(id, (counts.get(id) ?? 0) + 1);
  return counts;
}

function repeats(ids: readonly string[]): number {
  return [...countsOf(ids).values()].filter((count) => count > 1).length;
}
