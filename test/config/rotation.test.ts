import { mkdir, rename, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { startSlack } from '../../sandbox/slack.ts';
import { jsonLines, loud, post, run, serve, workplace } from '../commands/tools.ts';

test('a rotated secret is taken over where Kubernetes swaps its folder; one that the tool refuses is told at once, and with since when by each attempt and by status', async () => {
  const slack = await startSlack({ token: 'xoxb-first-of-them' });
  onTestFinished(() => slack.close());
  const { folder, write } = await workplace();
  const secrets = join(folder, 'secrets');
  let version = 0;
  const rotate = async (token: string) => {
    const next = `v${(version += 1)}`;
    await mkdir(join(secrets, next), { recursive: true });
    await writeFile(join(secrets, next, 'token'), `${token}\n`);
    await symlink(next, join(secrets, '..next'));
    await rename(join(secrets, '..next'), join(secrets, '..data'));
  };
  await rotate('xoxb-first-of-them');
  await symlink('..data/token', join(secrets, 'token'));
  const file = await write(
    'config.yaml',
    `${loud(folder)}
sinks: { slack: { connector: slack, token: '\${file:${secrets}/token}', apiUrl: '${slack.url}', retry: { minDelay: 10ms, maxDelay: 20ms } } }
rules: [ { name: told, when: {}, then: [ { sink: slack, channel: '#hiring', text: '{{ event.candidateId }}' } ] } ]
`,
  );
  const { app, lines, connector } = await serve(file);
  const saying = (msg: string) => lines().filter((line) => line.msg === msg);
  const attempts = (outcome: string) => saying('attempt').filter((line) => line['outcome'] === outcome);
  const before = Date.now();
  await rotate('xoxb-wrong-one-of-them');
  const refused = () => saying('the changed secrets of a sink do not work');
  await vi.waitFor(() => expect(refused()).toHaveLength(1), 15_000);
  expect(refused()[0]).toMatchObject({ sink: 'slack', detail: expect.stringContaining('invalid_auth') });
  expect(saying('config reloaded')).toMatchObject([{ changedFiles: [join(secrets, 'token')] }]);
  await post(app, { candidateId: 'Ben' });
  await vi.waitFor(
    () => expect(saying('sink paused: it fails for all deliveries; it is probed')).toHaveLength(1),
    15_000,
  );
  const since = /Its secrets were changed at (20\S+Z), and it has been refused since\./;
  const changedAt = Date.parse(since.exec(String(attempts('retry')[0]?.['detail']))?.[1] ?? '');
  expect(changedAt).toBeGreaterThanOrEqual(before);
  const status = await run(['status', '--json', '--config', file]);
  expect(status.code).toBe(4);
  expect(jsonLines<{ sinks: unknown }>(status)[0]?.sinks).toMatchObject([
    { sink: 'slack', state: 'paused', reason: expect.stringMatching(since) },
  ]);

  await rotate('xoxb-first-of-them');
  await vi.waitFor(() => expect(attempts('delivered')).toHaveLength(1), 20_000);
  await connector.stop();
  expect(refused()).toHaveLength(1);
  expect(connector.lines.join('\n')).not.toContain('of-them');
});
