import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { closeSync, mkdtempSync, openSync, rmdirSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { base, endpoint, serving, workplace } from '../commands/tools.ts';
import { Sender } from '../faults/sender.ts';
import { freshName, PostgresServer, sql } from '../fixtures/postgres.ts';
import { eventually } from '../fixtures/eventually.ts';

let disk: string;
let server: PostgresServer;

beforeAll(async () => {
  disk = mkdtempSync(join(tmpdir(), 'disk-'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=400m,mode=0755', 'tmpfs', disk]);
  const usual = process.env.TMPDIR;
  process.env.TMPDIR = disk;
  server = await PostgresServer.start({ max_wal_size: '64MB', min_wal_size: '32MB' });
  if (usual === undefined) delete process.env.TMPDIR;
  else process.env.TMPDIR = usual;
});

afterAll(async () => {
  await server.remove();
  execFileSync('umount', [disk]);
  rmdirSync(disk);
});

/**
 * Takes all that is left of the disk, until the returned function gives it back. It writes until the system refuses:
 * PostgreSQL is at work meanwhile, so what was free a moment ago says little.
 */
function fill(): () => void {
  const path = join(disk, 'ballast');
  const free = () => rmSync(path, { force: true });
  onTestFinished(free);
  const ballast = openSync(path, 'w');
  const piece = Buffer.alloc(1024 * 1024);
  const write = () => {
    for (;;) writeSync(ballast, piece);
  };
  expect(write).toThrow(expect.objectContaining({ code: 'ENOSPC' }));
  closeSync(ballast);
  return free;
}

/** Its log needs new files then, without which it crashes. */
async function fillLog(): Promise<void> {
  const write = 'update page set n = n + 1; select pg_switch_wal()';
  const crash = async () => {
    for (;;) await sql(server.url(), write);
  };
  // Where the connector needs the new file first, the crash ends this connection without a word, or refuses the next one.
  await expect(crash()).rejects.toThrow(/No space left on device|connection/i);
}

const body = () => JSON.stringify({ candidateId: randomUUID(), testId: 1, status: 'Completed' });

test.each([
  ['a table', async () => {}, async () => {}],
  // Whoever runs it starts it again where it gave up.
  ['its log', fillLog, () => server.restart()],
])(
  'while the disk of PostgreSQL has no room for %s, senders are told to come again; then all goes on without a restart',
  async (_, after, repair) => {
    await sql(server.url(), 'create table if not exists page (n int); insert into page values (1)');
    const tool = await endpoint();
    const { folder, write } = await workplace();
    const url = `${server.url()}?schema=${freshName()}`;
    const config = `${base(folder).replace(/"sqlite:.*"/, `"${url}"`)}
sinks: { hook: { connector: webhook, url: "${tool.url}", allowPrivate: true } }
rules: [ { name: all, when: {}, then: [ { sink: hook } ] } ]
`;
    const app = await serving(await write('config.yaml', config));
    const sender = new Sender(() => app.receiverUrl, 5);
    const sending = sender.run((n) => ({ candidateId: `candidate-${n} ${'x'.repeat(200)}`, testId: 1 }));
    onTestFinished(() => sender.stop());
    const accepts = async () => {
      const before = sender.accepted.length;
      await eventually(() => expect(sender.accepted.length).toBeGreaterThan(before + 20), 60_000);
    };
    await accepts();

    const free = fill();
    await after();
    const headers = { 'content-type': 'application/json' };
    await eventually(async () => {
      const answer = await fetch(app.receiverUrl, { method: 'POST', headers, body: body() });
      expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '5']);
    }, 120_000);
    free();
    await repair();
    await accepts();
    sender.stop();
    await sending;

    const rows = await sql(url, 'select candidate_id, test_id from events');
    const stored = new Set(rows.map((row) => `${String(row['candidate_id'])} ${String(row['test_id'])}`));
    expect(sender.accepted.filter((id) => !stored.has(id))).toEqual([]);
    const left = `select count(*)::int as n from deliveries where state <> 'delivered'`;
    await eventually(async () => expect(await sql(url, left)).toEqual([{ n: 0 }]), 120_000);
    expect(new Set(tool.calls.map(({ deliveryId }) => deliveryId)).size).toBe(stored.size);
  },
  400_000,
);
