import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { withoutPassword } from '../../../src/support/store-url.ts';
import { checkPostgres, openPostgres } from '../../../src/store/postgres.ts';
import { secretsOfUrl } from '../../../src/support/secret.ts';
import { base, endpoint, run, serving, workplace } from '../../commands/tools.ts';
import { freePort } from '../../fixtures/free-port.ts';
import { Sender } from '../../faults/sender.ts';
import {
  arrival,
  configId,
  day,
  decider,
  delivered,
  idsOf,
  leaseRequest,
  planned,
  resultOf,
  t0,
  undecided,
} from '../../contract/store-fixtures.ts';
import type { Acceptance, Lease, LeaseState, Store } from '../../../src/store/store.ts';
import { freshName, PostgresServer, sql } from '../../fixtures/postgres.ts';
import { eventually } from '../../fixtures/eventually.ts';

let primary: PostgresServer;
let standby: PostgresServer;

beforeAll(async () => {
  primary = await PostgresServer.start();
  standby = await primary.standby();
});

afterAll(() => Promise.all([primary.remove(), standby.remove()]));

/** One URL of several servers. */
function urlOf(...servers: readonly PostgresServer[]): string {
  const hosts = servers.map(({ port }) => `127.0.0.1:${port}`).join();
  return primary.url().replace(/127\.0\.0\.1:\d+/, hosts);
}

test('a standby is never taken, wherever it stands in the URL', async () => {
  const schema = freshName();
  for (const url of [urlOf(standby, primary), urlOf(primary, standby)]) {
    const store = await openPostgres(`${url}?schema=${schema}&target_session_attrs=read-write`);
    await store.probe();
    await store.close();
    expect(await checkPostgres(`${url}?schema=${schema}`)).toContain('the store is in');
  }
});

test('where a copy of the database takes its place, what may have been sent by then is asked for first', async () => {
  const [name, copy] = [freshName(), freshName()];
  await sql(primary.url(), `create database ${name}`);
  const using = async <T>(use: (store: Store) => Promise<T>) => {
    const store = await openPostgres(primary.url(name));
    return use(store).finally(() => store.close());
  };
  const request = leaseRequest();
  const distrusted = () => using(async (store) => (await store.leases!.renew(request)).distrusted);
  await using(async (store) => {
    await store.saveConfig({ id: configId, source: {}, savedAt: t0 });
    await store.accept(arrival());
  });
  expect([await distrusted(), await distrusted()]).toEqual([null, null]);
  await sql(primary.url(), `create database ${copy} template ${name}`);
  await sql(primary.url(), `drop database ${name}`);
  await sql(primary.url(), `alter database ${copy} rename to ${name}`);
  expect([await distrusted(), await distrusted()]).toEqual([1, null]);
});

test('what is wrong is said of all of them, and nothing shows the password', async () => {
  const url = urlOf(standby, primary);
  const hosts = `127.0.0.1:${standby.port} or 127.0.0.1:${primary.port}`;
  const refused = (wrong: string) => checkPostgres(wrong).catch((error: Error) => error.message);
  expect(await refused(url.replace('correct', 'wrong'))).toBe(
    `PostgreSQL at ${hosts} refused the password of the user postgres. A changed password takes a restart of each replica. Make a container anew: one that is restarted keeps the old variables.`,
  );
  expect(await refused(urlOf(standby, standby))).toMatch(/ is read-only: a standby, /);
  expect(await refused(`${url}?target_session_attrs=any`)).toBe(
    'store.url: target_session_attrs=any is not supported: the store needs the server that can be written.',
  );
  expect(withoutPassword(url)).toBe(
    `postgres://postgres:***@127.0.0.1:${standby.port},127.0.0.1:${primary.port}/postgres`,
  );
  expect(secretsOfUrl(url)).toContain('correct horse');
});

test('what a server answers is said rather than that another one is off, wherever it stands in the URL', async () => {
  const off = await freePort();
  for (const hosts of [
    [off, primary.port],
    [primary.port, off],
  ]) {
    const [first, second] = hosts.map((port) => `127.0.0.1:${port}`);
    const url = primary
      .url('postgres', 'postgres', 'wrong')
      .replace(/127\.0\.0\.1:\d+/, `${first},${second}`);
    const refused = checkPostgres(url).catch((error: Error) => error.message);
    expect(await refused).toContain(
      `PostgreSQL at ${first} or ${second} refused the password of the user postgres.`,
    );
  }
});

test('when the primary dies and the standby is promoted, nothing accepted is lost and nothing is restarted', async () => {
  const tool = await endpoint();
  const { folder, write } = await workplace();
  const config = `${base(folder).replace(/"sqlite:.*"/, `"${urlOf(primary, standby)}"`)}
sinks: { hook: { connector: webhook, url: "${tool.url}", allowPrivate: true, timeout: 10s, retry: { minDelay: 50ms, maxDelay: 500ms } } }
rules: [ { name: all, when: {}, then: [ { sink: hook } ] } ]
`;
  const app = await serving(await write('config.yaml', config));
  const sender = new Sender(() => app.receiverUrl, 20);
  const sending = sender.run((n) => ({ candidateId: `candidate-${n}`, testId: 1 }));
  onTestFinished(() => sender.stop());
  await eventually(() => expect(sender.accepted.length).toBeGreaterThan(20), 80_000);

  await primary.crash();
  const before = sender.accepted.length;
  await sql(standby.url(), 'select pg_promote()');
  await eventually(() => expect(sender.accepted.length).toBeGreaterThan(before + 20), 80_000);
  sender.stop();
  await sending;

  const rows = await sql(standby.url(), 'select candidate_id, test_id from events');
  const stored = rows.map((row) => String(row['candidate_id']));
  const whole = new Set(rows.map((row) => `${String(row['candidate_id'])} ${String(row['test_id'])}`));
  expect(sender.accepted.filter((one) => !whole.has(one))).toEqual([]);
  expect(new Set(stored).size).toBe(stored.length);
  const arrived = () => new Set(tool.calls.map(({ body }) => (JSON.parse(body) as Body).data.candidateId));
  await eventually(() => expect(stored.filter((id) => !arrived().has(id))).toEqual([]), 150_000);
  // Nobody can tell whether the standby had all.
  const told = 'PostgreSQL was promoted, restored or moved at';
  const status = async () => (await run(['status', '--config', join(folder, 'config.yaml')])).out;
  await eventually(async () => expect(await status()).toContain(told), { timeout: 30_000, interval: 1000 });
  expect(await (await fetch(`${app.adminUrl}/`)).text()).toContain(told);
}, 300_000);

test('a former primary that comes back is never used, as it has what was delivered since as waiting', async () => {
  const former = await PostgresServer.start();
  const promoted = await former.standby(false);
  onTestFinished(async () => void (await Promise.all([former.remove(), promoted.remove()])));
  const open = async () => {
    const store = await openPostgres(urlOf(former, promoted));
    onTestFinished(() => store.close());
    return store;
  };
  const store = await open();
  await store.saveConfig({ id: configId, source: {}, savedAt: t0 });
  await eventually(async () => expect(await sql(promoted.url(), 'select 1 from configs')).toHaveLength(1));
  await former.crash();
  await sql(promoted.url(), 'select pg_promote()');
  await store.probe();
  await former.start();

  await promoted.stop();
  await expect(store.probe()).rejects.toThrow(
    `PostgreSQL at 127.0.0.1:${former.port} was replaced by a standby that was promoted, and lacks what was stored since. Keep it off, or make it a standby of that one. Where you went back to it on purpose, as with a backup, restart the connector.`,
  );
  await promoted.start();
  // One that begins now has seen neither of them.
  for (const one of [store, await open()]) await one.accept(arrival());
  expect(await sql(promoted.url(), 'select 1 from events')).toHaveLength(2);
  expect(await sql(former.url(), 'select 1 from events')).toHaveLength(0);
}, 60_000);

/** A primary without a store that came back after its standby was promoted. */
async function replaced() {
  const former = await PostgresServer.start();
  const promoted = await former.standby(false);
  onTestFinished(async () => void (await Promise.all([former.remove(), promoted.remove()])));
  await former.crash();
  await sql(promoted.url(), 'select pg_promote()');
  await former.start();
  return { former, promoted, url: urlOf(former, promoted) };
}

test('a start makes and updates the tables of the server that was promoted, and looks there only', async () => {
  const { former, promoted, url } = await replaced();
  const store = await openPostgres(url);
  onTestFinished(() => store.close());
  await store.saveConfig({ id: configId, source: {}, savedAt: t0 });
  await store.accept(arrival());
  expect(await checkPostgres(url)).toContain('the store is in');
  expect(await sql(promoted.url(), 'select 1 from events')).toHaveLength(1);
  expect(await sql(former.url(), `select to_regclass('events') as made`)).toEqual([{ made: null }]);
}, 60_000);

test('a former primary is left as soon as the server that was promoted is there again, also where only it was there at the start', async () => {
  const { former, promoted, url } = await replaced();
  await promoted.stop();
  const store = await openPostgres(url, { limits: { lookAgainMs: 50 } });
  onTestFinished(() => store.close());
  await promoted.start();
  const other = await openPostgres(url);
  onTestFinished(() => other.close());
  for (const one of [store, other]) await one.saveConfig({ id: configId, source: {}, savedAt: t0 });
  await eventually(async () => {
    await store.accept(arrival());
    expect(await sql(promoted.url(), 'select 1 from events')).not.toHaveLength(0);
  });
  const onFormer = () => sql(former.url(), 'select id from events');
  const before = await onFormer();
  await store.accept(arrival());
  expect(await onFormer()).toEqual(before);
}, 60_000);

test('after a failover that lost commits, what may have been sent by then is asked for first', async () => {
  const first = await PostgresServer.start();
  const second = await first.standby(false);
  onTestFinished(async () => void (await Promise.all([first.remove(), second.remove()])));
  const store = await openPostgres(first.url().replace(/127.*(?=\/)/, `$&,127.0.0.1:${second.port}`));
  onTestFinished(() => store.close());
  await store.saveConfig({ id: configId, source: {}, savedAt: t0 });
  const asked = leaseRequest({ names: ['sink slack'] });
  const renew = () => store.leases!.renew(asked);
  const leaseOf = ({ held }: LeaseState) => ({
    name: 'sink slack',
    replica: 'a',
    epoch: held.get('sink slack')!,
  });
  const lease = leaseOf(await renew());
  const claim = (by: Lease, now = Date.now(), limit = 100) =>
    store.claim({ lane: 'slack #hiring', now, limit, lease: by });
  const later = Date.now() + day;
  const [begun, lost, digest] = [planned(), planned(), planned({ group: 'g', groupMax: 9, dueAt: later })];
  // Another replica goes with the first server, whose clock is ahead of that of the second.
  await store.leases!.renew({ ...asked, replica: 'b', names: [] });
  const aheadMs = 600_000;
  await sql(first.url(), `update copies set until = until + ${aheadMs}`);
  const soonByFirst = planned({ dueAt: Date.now() + aheadMs });
  const accepted = await store.accept(arrival({}, { deliveries: [begun, lost, digest, soonByFirst] }));
  expect(await claim(lease, t0, 1)).toHaveLength(1);
  const [soon, late] = [await store.accept(undecided('ana')), await store.accept(undecided('ben'))];
  const decide = ({ eventId }: Acceptance, dueAt: number) =>
    store.decide(eventId, decider({ decide: () => [planned({ dueAt })] }), t0 + day);
  await eventually(async () => expect(await sql(second.url(), 'select 1 from undecided')).toHaveLength(2));
  await second.stop();
  for (const one of [soon, late]) expect(await decide(one, t0)).toBe('decided');
  await store.record((await claim(lease)).map((claimed) => resultOf(claimed, delivered)));
  await Promise.all([first.crash(), second.start()]);
  await sql(second.url(), 'select pg_promote()');

  expect(await claim(lease)).toEqual([]);
  // By a replica whose clock is ahead of the database's.
  expect(await decide(soon, Date.now() + 900)).toBe('decided');
  const state = await renew();
  // The look-up of the one that is undecided, too.
  expect([state.distrusted, state.held.size]).toEqual([5, 0]);
  expect(state.replicas.map(({ id }) => id)).toEqual(['a']);
  expect(await claim(lease)).toEqual([]);
  await sql(second.url(), 'update leases set until = 1');
  const again = leaseOf(await renew());
  expect(again.epoch).toBeGreaterThan(lease.epoch);
  expect(await store.rescue(t0, 0, { sink: 'slack', lease: again })).toBe(1);
  expect(await decide(late, t0)).toBe('decided');
  const claimed = await claim(again, later);
  const [ofBegun, ofLost, ofDigest, ofSoon] = idsOf(accepted, 4);
  expect(claimed.map(({ delivery: { id, uncertain } }) => [id, uncertain])).toEqual([
    [ofBegun, true],
    [ofLost, true],
    [idsOf(late, 2)[1], true],
    [idsOf(soon, 2)[1], true],
    [ofSoon, true],
    [ofDigest, false],
  ]);
}, 60_000);

interface Body {
  readonly data: { readonly candidateId: string };
}
