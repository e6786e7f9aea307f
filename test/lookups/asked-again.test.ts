import { expect, onTestFinished, test } from 'vitest';
import { startSlack } from '../../sandbox/slack.ts';
import { TestingService } from '../../sandbox/testing-service.ts';
import { post, telling } from '../commands/tools.ts';

test('a digest goes to nobody whom its first event alone concerns, where look-ups made again find who that is', async () => {
  const api = await new TestingService().start();
  onTestFinished(() => api.close());
  const rules = `
lookups:
  candidate:
    url: "${api.url}/candidates/{{ event.candidateId }}"
    auth: { oauth2: { tokenUrl: "${api.url}/token", grant: password, username: ${api.username}, password: ${api.password} } }
    fields: { name: { at: /name, personal: true } }
    waitFor: 300ms
    allowPrivate: true
rules:
  - name: daily
    when: {}
    then:
      - sink: ats
        path: "/{{ candidate.name | default: 'everybody' }}"
        body: { about: "{% for event in events %}{{ event.candidateId }} {% endfor %}" }
        digest: { every: 5s }
`;
  const { app, http, command, done } = await telling({ rules });
  await api.close();
  await command('pause', 'ats');
  const posted = await Promise.all(['ana', 'ben'].map((candidateId) => post(app, { candidateId })));
  for (const { eventId } of posted)
    await expect
      .poll(async () => (await command('event', eventId, '--json')).out, { timeout: 20_000 })
      .toContain('"decided":true');
  await api.start();
  const ids = posted.map(({ eventId }) => eventId);
  expect(await command('lookup', ...ids, '--wait')).toMatchObject({ code: 0 });
  await command('resume', 'ats');
  await done();
  const told = http.calls.map(({ path, body }) => [path, (JSON.parse(body) as { about: string }).about]);
  // Both in one message, but for a window that ended in between: then each has one of its own.
  for (const [path, about] of told)
    expect(path).toMatch(about === 'ana ben ' || about === 'ben ana ' ? /\/everybody$/ : /\/\w+'?\w*/);
  expect(told.flatMap(([, about]) => about!.split(' ')).toSorted()).toEqual(['', 'ana', 'ben']);
});

/** A message to the office that a look-up finds, which `office` sets; in threads of candidates, if `more` says so. */
async function tellingOffices(more = '') {
  const [api, slack] = [
    await new TestingService().start(),
    await startSlack({ channels: ['berlin', 'zagreb'] }),
  ];
  onTestFinished(async () => void (await Promise.all([api.close(), slack.close()])));
  const found = { office: 'berlin' };
  api.version = (answer) => ({ ...answer, ...found });
  const all = await telling({
    sinks: `,
  slack: { connector: slack, token: '${slack.token}', apiUrl: '${slack.url}', timeout: 3s, retry: { minDelay: 2s, maxDelay: 2s } }`,
    rules: `
lookups:
  candidate:
    url: "${api.url}/candidates/{{ event.candidateId }}"
    auth: { oauth2: { tokenUrl: "${api.url}/token", grant: password, username: ${api.username}, password: ${api.password} } }
    fields: { office: { at: /office } }
    allowPrivate: true
rules: [{ name: told, when: {}, then: [{ sink: slack, channel: '#{{ candidate.office }}', text: told${more} }] }]
`,
  });
  const event = async (id: string) => (await all.command('event', id, '--json')).out;
  return { ...all, slack, found, event };
}

test.each([
  ['may have arrived', [true]],
  ['may have arrived only at its second try', [false, true]],
])(
  'a message that %s is looked for where it went, and goes nowhere else, where a look-up made again finds another place',
  async (_, arrivals) => {
    const { app, slack, found, event, command, done } = await tellingOffices();
    slack.faults.only = ['chat.postMessage'];
    slack.faults.once(...arrivals.map((commit) => ({ kind: 'drop' as const, commit })));
    const { eventId } = await post(app, { candidateId: 'ana' });
    await expect.poll(() => event(eventId), { timeout: 20_000 }).toContain('"outcome":"unknown"');
    await command('pause', 'slack');
    found.office = 'zagreb';
    expect(await command('lookup', eventId, '--wait')).toMatchObject({ code: 0 });
    expect(await event(eventId)).toContain('"office":"zagreb"');
    await command('resume', 'slack');
    await done();
    expect(slack.messages.map(({ channelName }) => channelName)).toEqual(['berlin']);
  },
);

test('a message that a look-up made again has in another channel waits for those that are there, so that one thread is begun', async () => {
  const { app, slack, found, event, command, done } = await tellingOffices(
    ", threadBy: '{{ event.candidateId }}'",
  );
  const posted = async (status: string) => {
    const { eventId } = await post(app, { candidateId: 'ana', status });
    await expect.poll(() => event(eventId), { timeout: 20_000 }).toContain('"decided":true');
    return eventId;
  };
  await command('pause', 'slack');
  const moved = await posted('Completed');
  found.office = 'zagreb';
  await posted('Canceled');
  expect(await command('lookup', moved, '--wait')).toMatchObject({ code: 0 });
  await command('resume', 'slack');
  await done();
  const [first, second] = slack.messages;
  expect(slack.messages.map(({ channelName }) => channelName)).toEqual(['zagreb', 'zagreb']);
  expect([first?.thread_ts, second?.thread_ts]).toEqual([undefined, first?.ts]);
});
