import { writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { base, endpoint, post, run, serving, settled, workplace } from './tools.ts';

test('what was discarded before it was sent is told by the corrected rule under its old name, and nothing twice', async () => {
  const { folder, write } = await workplace();
  const ats = await endpoint();
  const config = (path: string) => `${base(folder)}
sinks: { ats: { connector: webhook, url: '${ats.url}', allowPrivate: true, onUnknown: hold } }
rules: [ { name: told, when: {}, then: [ { sink: ats, path: ${path}, body: { who: '{{ event.candidateId }}' } } ] } ]
`;
  const file = await write('config.yaml', config('/wrong'));
  const command = (...argv: string[]) => run([...argv, '--config', file]);
  const app = await serving(file);
  await post(app, { candidateId: 'Delivered' });
  ats.faults.once({ kind: 'drop', commit: true });
  const held = await post(app, { candidateId: 'Held' });
  await settled(file);
  await command('discard', held.eventId);
  await command('pause', 'ats');
  for (const candidateId of ['Dana', 'Robin']) await post(app, { candidateId });
  await command('discard', '--pending', '--rule', 'told');
  await writeFile(file, config('/right'));
  const before = await command('apply', '--rule', 'told', '--yes');
  expect(before.out).toContain(
    '4 of them have deliveries of this rule already and are left out\n  2 of these were discarded unsent: with --discarded they are told, too\n',
  );

  const apply = () => command('apply', '--rule', 'told', '--discarded', '--yes');
  const both = await Promise.all([apply(), apply()]);
  await command('resume', 'ats');
  expect(both.map(({ code }) => code)).toEqual([0, 0]);
  await settled(file);
  expect((await apply()).out).toContain('4 of them have deliveries of this rule already and are left out');
  const told = ats.calls.filter(({ path }) => path.endsWith('/right')).map(({ body }) => body);
  expect(told.toSorted()).toEqual(['{"who":"Dana"}', '{"who":"Robin"}']);
});

test('of a rule with several actions, only what was discarded is told again: the row that was written is not repeated', async () => {
  const { folder, write } = await workplace();
  const [chat, ats] = [await endpoint(), await endpoint()];
  const config = (path: string) => `${base(folder)}
sinks:
  chat: { connector: webhook, url: '${chat.url}', allowPrivate: true }
  ats: { connector: webhook, url: '${ats.url}', allowPrivate: true }
rules:
  - name: told
    when: {}
    then:
      - { sink: chat, path: ${path}, body: { who: '{{ event.candidateId }}' } }
      - { sink: ats }
`;
  const file = await write('config.yaml', config('/wrong'));
  const command = (...argv: string[]) => run([...argv, '--config', file]);
  const app = await serving(file);
  await post(app, { candidateId: 'Delivered' });
  await settled(file);
  await command('pause', 'chat');
  for (const candidateId of ['Dana', 'Robin']) await post(app, { candidateId });
  await expect.poll(() => ats.calls.length, { timeout: 30_000 }).toBe(3);
  await command('discard', '--pending', '--rule', 'told');
  await writeFile(file, config('/right'));
  expect((await command('apply', '--rule', 'told', '--dry-run')).out).toContain(
    '3 of them have deliveries of this rule already and are left out\n  2 of these were discarded unsent: with --discarded they are told, too\n',
  );

  const apply = () => command('apply', '--rule', 'told', '--discarded', '--yes');
  expect((await apply()).out).toContain(
    'Rule told asks for 2 deliveries, for 2 of 3 events\n  1 of them has deliveries of this rule already and is left out\n  2 of them are told only what was discarded: the rest of the rule is done, or may be\n  2 to chat\n',
  );
  await command('resume', 'chat');
  await settled(file);
  expect((await apply()).out).toContain('Rule told asks for 0 deliveries, for 0 of 3 events');
  const told = chat.calls.map(({ path, body }) => `${path.split('/').at(-1)} ${body}`);
  expect(told.toSorted()).toEqual([
    'right {"who":"Dana"}',
    'right {"who":"Robin"}',
    'wrong {"who":"Delivered"}',
  ]);
  expect(ats.calls).toHaveLength(3);
});

test('what commands print of a stored event has its time by the clock of the config', async () => {
  const { folder, write } = await workplace();
  const config = (rule: string) => `${base(folder)}timezone: Asia/Tokyo
sinks: { ats: { connector: webhook, url: 'https://ats.example' } }
rules: [ { name: ${rule}, when: { testId: 7 }, then: [ { sink: ats } ] } ]
`;
  const file = await write('config.yaml', config('told'));
  const app = await serving(file);
  await post(app, { candidateId: 'Dana', testId: 1 });
  const wider = await write('wider.yaml', config('told').replace('testId: 7', 'testId: 1'));
  for (const argv of [
    ['apply', '--rule', 'told', '--dry-run', '--config', wider],
    ['forget', 'Dana', '--dry-run', '--config', file],
    ['backtest', wider, '--config', file],
  ]) {
    const { out } = await run(argv);
    expect(out).toMatch(/\d\d:\d\d:\d\d \+09:00/);
    expect(out).not.toContain('UTC');
  }
});

test('what it shows waits is shown as of when it goes', async () => {
  const { folder, write } = await workplace();
  const config = (rule: string) => `${base(folder)}
hours: { once: { days: [${weekdayIn(3)}], from: '00:00', to: '24:00' } }
sinks: { ats: { connector: webhook, url: 'https://ats.example' } }
rules: [ { name: ${rule}, when: {}, then: [ { sink: ats, hours: once, body: { on: "{{ now | date: '%F' }}" } } ] } ]
`;
  const app = await serving(await write('config.yaml', config('told')));
  await post(app, { candidateId: 'Dana' });
  const later = await write('later.yaml', config('later'));
  const { out } = await run(['apply', '--rule', 'later', '--dry-run', '--config', later]);
  const [, due] = /due \w+ (\S+)/.exec(out)!;
  expect(out).toContain(`on: ${due}\n`);
});

/** The name of the weekday in some days, by UTC. */
const weekdayIn = (days: number): string => {
  const { dayOfWeek } = Temporal.Now.plainDateISO('UTC').add({ days });
  return ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'][dayOfWeek - 1]!;
};
