import { expect, onTestFinished, test } from 'vitest';
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
