import type { Config, SinkConfig } from '../../config/config.ts';
import type { LookupSink } from '../../config/lookups/lookup-sinks.ts';
import {
  type Audience,
  failedCheck,
  type LiveCheck,
  mayRotate,
  passed,
  type RefreshTokens,
} from '../../connector.ts';
import { type About, prepare } from '../../deliveries/prepare.ts';
import { type Event, type Json, noFacts } from '../../model.ts';
import type { RaisedNotice } from '../../model/notices.ts';
import { conditionOf, inLastHour, isDown, nextShows, restartHint, sinkFacts } from '../../ops/sink-states.ts';
import { checkStore, glanceAt, openStore } from '../../store/open.ts';
import { keptRefreshTokens } from '../../store/refresh-tokens.ts';
import { type Reads, ServedByOlder, StoreUnavailable } from '../../store/store.ts';
import { candidateIdIn, candidateNumberIn } from '../../support/candidate-traces.ts';
import { program } from '../../support/invocation.ts';
import { isPostgres } from '../../support/store-url.ts';
import { actionsOf, cellsOf, reachedIn } from '../../rules/cells.ts';
import type { Action, Plan } from '../../rules/plan.ts';
import { sampleEvent, templateData } from '../../templates/data.ts';
import { isServed } from '../with-store.ts';

/** The questions of `check --live` to the store and to each sink. Nothing is sent. */

/** The checks of one sink, of one look-up or of the store. */
export interface LiveOf {
  readonly of: string;
  readonly checks: readonly LiveCheck[];
}

/**
 * Asks the store, all sinks and all look-ups. `candidate`: for whom look-ups are made, as `events --candidate` takes it; without
 * it, only their logins are tried.
 */
export async function checkLive(config: Config, candidate?: string): Promise<LiveOf[]> {
  await using ending = new AsyncDisposableStack();
  const refreshTokens = await keptTokens(config, ending);
  const event = candidate === undefined ? undefined : await eventOf(candidate, config);
  const known = await glanceAt(config.store.url, readSinks);
  return await Promise.all([
    checkItsStore(config),
    ...Array.from(config.sinks.values(), async (sink) => ({
      of: `${sink.name} (${sink.connector.name})`,
      checks: [
        ...(await askSink(sink, sampleMessages(config, sink.name, Date.now()), refreshTokens)),
        ...fares(sink.name, known, { what: 'messages go out', it: 'the sink' }),
      ],
    })),
    ...Array.from(config.lookups.values(), async (lookup) => ({
      of: `${lookup.lookup} (look-up)`,
      checks: [
        ...(await tryLookup(lookup, config.plan, event, refreshTokens)),
        ...fares(lookup.name, known, { what: 'look-ups are made', it: 'the look-up' }),
      ],
    })),
  ]);
}

/** The newest event of a candidate, or a sample where none has come, as before the first one. */
async function eventOf(candidate: string, { store, plan }: Config): Promise<Event> {
  const newest = await glanceAt(store.url, async (reads) => {
    const candidates = await reads.candidatesMeant(candidate);
    return (await reads.search({ candidates, limit: 1 })).stories[0]?.event;
  });
  const [testId] = plan.testIds;
  const candidateId = candidateIdIn(candidate);
  const given = { candidateId, candidateNumericalId: candidateNumberIn(candidateId) };
  return newest ?? sampleEvent({ ...given, ...(testId !== undefined && { testId }) }, Date.now());
}

/** Makes a look-up for an event. The result does not say who the candidate is. */
async function tryLookup(
  lookup: LookupSink,
  plan: Plan,
  event: Event | undefined,
  refreshTokens: RefreshTokens | undefined,
): Promise<LiveCheck[]> {
  if (event === undefined) return askSink(lookup, [], refreshTokens);
  const data = templateData(event, plan.test(event.testId), noFacts, lookup.name, Date.now());
  const asked = lookup.compose(data);
  if ('message' in asked) return askSink(lookup, [asked.message], refreshTokens);
  return [failedCheck('url', asked.rejected)];
}

const readSinks = async (reads: Pick<Reads, 'sinkFigures' | 'pauses' | 'personPauses' | 'counts'>) => ({
  // It tries the secrets itself.
  facts: await sinkFacts(reads, [], Date.now()),
  counts: await reads.counts(),
});

/** The kept refresh tokens. Asking for an access token may use up the refresh token, and the new one has to be kept. */
async function keptTokens(
  { store: { url, secretKey }, sinks, lookups }: Config,
  ending: AsyncDisposableStack,
) {
  const all = [...sinks.values(), ...lookups.values()];
  if (secretKey === null || !all.some(({ options }) => mayRotate(options))) return undefined;
  const opened = await openStore(url, { serve: false }).catch((error: unknown) => {
    // Its connector has the tokens, and goes on with them.
    if (error instanceof ServedByOlder) return undefined;
    throw error;
  });
  if (opened === undefined) return undefined;
  const store = ending.adopt(opened, (it) => it.close());
  // On SQLite, a connector that serves could ask with the same token at the same time.
  if (store.leases === null && (await isServed(store))) return undefined;
  return keptRefreshTokens(store, secretKey, (message, cause) => {
    throw new StoreUnavailable(message, { cause });
  });
}

async function checkItsStore({ store }: Config): Promise<LiveOf> {
  const of = `store (${isPostgres(store.url) ? 'PostgreSQL' : 'SQLite'})`;
  try {
    const detail = await checkStore(store.url);
    return { of, checks: detail === null ? [] : [{ ok: true, what: 'connect', detail }] };
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
    return { of, checks: [{ ok: false, what: 'connect', detail: error.message }] };
  }
}

const notTried = () =>
  passed(
    'nothing was asked',
    `That could use up the refresh token that the connector needs. It is tried where store.secretKey is set and no connector of an older version runs, on SQLite none at all; \`${program} status\` says how its messages fare.`,
  );

/** Asks one sink what can be asked without sending. A fault on the way is a failed check, and the others go on. */
async function askSink(
  { connector, options, timeoutMs }: SinkConfig,
  messages: readonly Json[],
  refreshTokens: RefreshTokens | undefined,
): Promise<LiveCheck[]> {
  if (refreshTokens === undefined && mayRotate(options)) return [notTried()];
  try {
    const sink = await connector.connect(options, refreshTokens);
    return await sink.check(messages, AbortSignal.timeout(timeoutMs)).finally(() => sink.close());
  } catch (error) {
    return [{ ok: false, what: 'set up', detail: error instanceof Error ? error.message : String(error) }];
  }
}

/** Reports a sink that is paused or failing: a tool may answer every question and still take no message. */
function fares(
  name: string,
  known: Awaited<ReturnType<typeof readSinks>> | null,
  { what, it }: { readonly what: string; readonly it: string },
): LiveCheck[] {
  if (known === null) return [];
  const condition = conditionOf(name, known.facts);
  if (!isDown(condition)) return [];
  const { trouble, figures } = condition;
  const because = (trouble?.because ?? figures?.because)?.detail.replace(/\.?$/, '');
  const words = [`${it} is ${condition.state}`, ...(figures ? inLastHour(figures) : [])].join(', ');
  const detail = `${words}${because === undefined ? '' : `: ${because}`}.`;
  const { pending = 0, sending = 0 } = known.counts.find(({ sink }) => sink === name)?.states ?? {};
  const advice =
    pending + sending > 0 ? `When that is put right, ${program} retry ${name} tries it.` : nextShows(name);
  const hint = restartHint(condition.pause);
  return [{ ok: false, what, detail, advice: hint === null ? advice : `${advice} ${hint}` }];
}

const mostMessages = 200;

/**
 * What the rules could send to a sink: a message of each action to each place, for asking a tool whether it would take them.
 * `now` is when the sample events come.
 */
function sampleMessages({ plan, sinks }: Config, sinkName: string, now: number): Json[] {
  const sink = sinks.get(sinkName);
  if (!sink) return [];
  const messages = new Map<string, Json>();
  const add = (action: Action, about: About, place: Audience | null): void => {
    const key = JSON.stringify([action.rule, action.action, place]);
    if (messages.size >= mostMessages || messages.has(key)) return;
    const prepared = prepare(action, about, 'dlv_sample', plan, sink, now);
    if ('message' in prepared) messages.set(key, prepared.message);
  };
  const { cells, others } = cellsOf(plan);
  for (const cell of cells) {
    const event = sampleEvent({ testId: cell.testId ?? others[0]!, status: cell.status }, now);
    for (const { action } of actionsOf(plan, reachedIn(plan, cell).reached)) {
      if (action.sink !== sinkName) continue;
      const place = action.audience(templateData(event, cell.test, noFacts, action.rule, now));
      add(action, { events: [event], notice: null }, place);
    }
  }
  const told = [...plan.alerts, ...(plan.summary ? [{ ...plan.summary, kind: 'summary' as const }] : [])];
  const words = { detail: 'Something is wrong.', advice: 'Look at it.', recovered: false };
  const common = { id: 'ntc_sample', raisedAt: now, sink: null, count: 1, since: now, ...words };
  for (const { kind, actions } of told) {
    const notice: RaisedNotice = Object.assign({ alert: kind, cause: kind }, common);
    for (const action of actions) if (action.sink === sinkName) add(action, { events: [], notice }, null);
  }
  return [...messages.values()];
}
