import { randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rename, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { startSlack } from '../../sandbox/slack.ts';
import { startApp } from '../../src/app.ts';
import { base, jsonLines, logging, loud, nothing, post, run, workplace } from '../commands/tools.ts';
import { eventually } from '../fixtures/eventually.ts';

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
    `${loud(folder)}timezone: Europe/Zagreb
sinks: { slack: { connector: slack, token: '\${file:${secrets}/token}', apiUrl: '${slack.url}', retry: { minDelay: 10ms, maxDelay: 20ms } } }
rules: [ { name: told, when: {}, then: [ { sink: slack, channel: '#hiring', text: '{{ event.candidateId }}' } ] } ]
`,
  );
  const { app: first, lines, out } = await logging(file);
  const saying = (msg: string) => lines().filter((line) => line.msg === msg);
  const attempts = (outcome: string) => saying('attempt').filter((line) => line['outcome'] === outcome);
  const before = Date.now();
  await rotate('xoxb-wrong-one-of-them');
  const refused = () => saying('the changed secrets of a sink do not work');
  await eventually(() => expect(refused()).toHaveLength(1));
  expect(refused()[0]).toMatchObject({
    sink: 'slack',
    detail: expect.stringMatching(/^The check "token valid" failed: .*invalid_auth/),
  });
  expect(saying('config reloaded')).toMatchObject([{ changedFiles: [join(secrets, 'token')] }]);
  const sinkText = async () => (await run(['status', '--config', file])).out;
  await eventually(async () =>
    expect(await sinkText()).toMatch(/^A person is needed: the changed secrets of slack do not work\.\n/),
  );
  expect(await sinkText()).toMatch(/slack \(slack\) +its changed secrets do not work \(since .*invalid_auth/);
  expect(await run(['retry', 'slack', '--config', file])).toMatchObject({
    code: 1,
    err: expect.stringMatching(
      /the changed secrets of slack do not work: .*invalid_auth.*; put these right\. What waits for it is tried as usual: `candidate-connector events/,
    ),
  });
  await first.stop();
  const app = await startApp(file, {});
  await eventually(() => expect(refused()).toHaveLength(2));
  expect(await sinkText()).toMatch(/^A person is needed: the changed secrets of slack do not work\.\n/);
  await post(app, { candidateId: 'Ben' });
  await eventually(() =>
    expect(saying('sink paused: it fails for all deliveries; it is probed')).toHaveLength(1),
  );
  const since = /Its secrets were changed at (20\S+ \S+ \+0[12]:00), and it has been refused since\./;
  const changedAt = Date.parse(since.exec(String(attempts('retry')[0]?.['detail']))?.[1] ?? '');
  // To the second.
  expect(changedAt).toBeGreaterThan(before - 1000);
  const status = await run(['status', '--json', '--config', file]);
  expect(status.code).toBe(4);
  expect(jsonLines<{ sinks: unknown }>(status)[0]?.sinks).toMatchObject([
    { sink: 'slack', state: 'paused', reason: expect.stringMatching(since) },
  ]);

  await rotate('xoxb-first-of-them');
  await eventually(() => expect(attempts('delivered')).toHaveLength(1));
  await app.stop();
  expect(refused()).toHaveLength(2);
  expect(out()).not.toContain('of-them');
});

test('a paused sink is tried as soon as its changed secrets are seen to work, and not only at the next try', async () => {
  const slack = await startSlack({ token: 'xoxb-right' });
  onTestFinished(() => slack.close());
  const { folder, write } = await workplace();
  const token = await write('token', 'xoxb-wrong');
  const file = await write(
    'config.yaml',
    `${loud(folder)}
sinks: { slack: { connector: slack, token: '\${file:${token}}', apiUrl: '${slack.url}', rate: 100/s, concurrency: 5, retry: { minDelay: 1h, maxDelay: 1h } } }
rules: [ { name: told, when: {}, then: [ { sink: slack, channel: '#hiring', text: '{{ event.candidateId }}' } ] } ]
`,
  );
  const { app, lines } = await logging(file);
  for (const candidateId of ['Ana', 'Ben', 'Chloé', 'Dario', 'Eva']) await post(app, { candidateId });
  const paused = () => lines().filter(({ msg }) => msg?.startsWith('sink paused'));
  await eventually(() => expect(paused()).toHaveLength(1));
  await write('token', 'xoxb-right');
  await eventually(() => expect(slack.messages).toHaveLength(5));
  await app.stop();
});

test('changed secrets that could not be tried, as the tool was down, are tried again, and not only with the next message', async () => {
  const slack = await startSlack({ token: 'xoxb-right' });
  onTestFinished(() => slack.close());
  const { folder, write } = await workplace();
  const token = await write('token', 'xoxb-old');
  const file = await write(
    'config.yaml',
    `${loud(folder)}
sinks: { slack: { connector: slack, token: '\${file:${token}}', apiUrl: '${slack.url}', retry: { minDelay: 10ms, maxDelay: 20ms } } }
rules: [ { name: told, when: {}, then: [ { sink: slack, channel: '#hiring' } ] } ]
`,
  );
  const { app, lines } = await logging(file);
  const status = async () => (await run(['status', '--config', file])).out;
  await slack.stop();
  await write('token', 'xoxb-right');
  await eventually(async () => expect(await status()).toContain('the changed secrets of slack do not work'));
  await slack.start();
  await eventually(async () => expect(await status()).toMatch(/^Nothing needs a person\./));
  await app.stop();
  // Lines are written a moment later.
  const told = () => lines().filter(({ msg }) => msg === 'the changed secrets of a sink do not work');
  await eventually(() => expect(told()).toHaveLength(1));
});

test('changed secrets that do not work are not tried while a person has paused the sink, and forgotten when it leaves the config', async () => {
  const slack = await startSlack({ token: 'xoxb-right' });
  onTestFinished(() => slack.close());
  const { folder, write } = await workplace();
  const token = await write('token', 'xoxb-right');
  const named = (name: string) =>
    write(
      'config.yaml',
      `${loud(folder)}
sinks: { ${name}: { connector: slack, token: '\${file:${token}}', apiUrl: '${slack.url}', retry: { minDelay: 10ms, maxDelay: 20ms } } }
rules: [ { name: told, when: {}, then: [ { sink: ${name}, channel: '#hiring' } ] } ]
`,
    );
  const file = await named('slack');
  const { app, lines } = await logging(file);
  const status = async () => (await run(['status', '--config', file])).out;
  const reloaded = (times: number) =>
    eventually(() => expect(lines().filter(({ msg }) => msg === 'config reloaded')).toHaveLength(times));
  await write('token', 'xoxb-wrong');
  const doNotWork = 'the changed secrets of slack do not work';
  await eventually(async () => expect(await status()).toContain(doNotWork));
  await run(['pause', 'slack', '--config', file]);
  // The worker reads each second what people paused, and a check may be under way.
  await eventually(async () => {
    const before = slack.calls.length;
    await sleep(300);
    expect(slack.calls).toHaveLength(before);
  });
  await run(['resume', 'slack', '--config', file]);
  await eventually(async () => expect(await status()).toContain(doNotWork));

  await named('other');
  await reloaded(2);
  await sleep(100);
  await write('token', 'xoxb-right');
  await reloaded(3);
  await named('slack');
  await reloaded(4);
  await eventually(async () => expect(await status()).toMatch(/^Nothing needs a person\./));
  await app.stop();
});

test('a receiver.token that was changed with a restart stays valid until the new one has come, and none is in the store', async () => {
  const { folder, write } = await workplace();
  const events = async (token: string, ...given: string[]) => {
    const text = base(folder).replace('allowFrom: any', `allowFrom: any, token: ${token}`);
    const app = await startApp(await write('config.yaml', text + nothing), {});
    const answers = [];
    for (const one of given)
      answers.push(
        (await post(app, { candidateId: randomUUID() }, undefined, { authorization: `Bearer ${one}` }))
          .status,
      );
    await app.stop();
    return answers;
  };
  expect(await events('the-first-token', 'the-first-token')).toEqual([202]);
  expect(await events('the-second-token', 'the-first-token', 'another')).toEqual([202, 401]);
  expect(await events('the-second-token', 'the-first-token', 'the-second-token')).toEqual([202, 202]);
  expect(await events('the-second-token', 'the-first-token')).toEqual([401]);
  // Its use is remembered, too.
  expect(await events('[the-third-token, the-second-token]', 'the-second-token')).toEqual([202]);
  expect(await events('the-second-token', 'the-third-token', 'the-first-token')).toEqual([401, 401]);
  const files = (await readdir(folder)).filter((name) => name.startsWith('connector.db'));
  const bytes = await Promise.all(files.map((name) => readFile(join(folder, name), 'latin1')));
  expect(bytes.join()).not.toContain('-token');
});
