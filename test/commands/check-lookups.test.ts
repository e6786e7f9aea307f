import { expect, onTestFinished, test } from 'vitest';
import { TestingService } from '../../sandbox/testing-service.ts';
import { openStore } from '../../src/store/open.ts';
import { base, endpoint, nothing, post, run, serving, tellAll, workplace } from './tools.ts';

test('check makes the look-ups for a candidate, and says which fields it found but no value', async () => {
  const { folder, write } = await workplace();
  const [api, http] = [await new TestingService().start(), await endpoint()];
  onTestFinished(() => api.close());
  const oauth2 = { tokenUrl: `${api.url}/token`, grant: 'password', username: api.username };
  const candidate = {
    url: `${api.url}/candidates/{{ event.candidateId }}`,
    allowPrivate: true,
    auth: { oauth2: { ...oauth2, password: '${API_PASSWORD}' } },
    fields: { name: { at: '/name', personal: true }, score: { at: '/result/score', type: 'number' } },
    until: ['score'],
  };
  const rules = tellAll.replace(
    '{ sink: ats }',
    '{ sink: ats, body: { text: "{{ candidate.score | default: 0 }}" } }',
  );
  const file = await write(
    'config.yaml',
    `${base(folder)}lookups: ${JSON.stringify({ candidate })}\nsinks: { ats: { connector: webhook, url: "${http.url}", allowPrivate: true } }\n${rules}`,
  );
  const check = (...flags: string[]) =>
    run(['check', ...flags, '--config', file], { API_PASSWORD: api.password });

  const { code, out } = await check('--live', '--candidate', 'Dana');
  expect(out).toContain(
    'candidate (look-up)\n  ✓ access token: granted\n  ✓ url answers: name: text, score: number.\n',
  );
  expect({ code, calls: api.calls }).toEqual({ code: 0, calls: ['token', 'candidate'] });

  // An answer to a check ends no pause.
  const store = await openStore(`sqlite:${folder}/connector.db`, { serve: false });
  onTestFinished(() => store.close());
  const because = { reason: 'server', detail: 'The API answered 503.' } as const;
  await store.keepPause({ sink: 'lookup:candidate', since: 1, probeAt: 2, probes: 1, because });
  const paused = await check('--live', '--candidate', 'Dana');
  expect({ code: paused.code, out: paused.out.replaceAll(/\s+/g, ' ') }).toEqual({
    code: 1,
    out: expect.stringMatching(
      /✓ url answers.* ✗ look-ups are made: the look-up is paused: The API answered 503\. The next event shows whether it works/,
    ),
  });
  const app = await serving(file, { API_PASSWORD: api.password });
  expect((await run(['status', '--config', file])).out).toMatch(
    /paused \(since .*; next try with the next event\n +fix that\. The next event shows whether it works/,
  );
  await app.stop();
  await store.endPause('lookup:candidate');

  api.version = () => ({ name: 1 });
  const renamed = await check('--candidate', 'Dana', '--json');
  expect(renamed.code).toBe(1);
  expect((JSON.parse(renamed.out) as { live: object[] }).live).toContainEqual(
    expect.objectContaining({
      ok: false,
      detail: expect.stringContaining('name: not of its type, score: not there.'),
    }),
  );
  // Without a candidate, only the login is tried.
  const { out: without } = await check('--live');
  expect(api.calls.at(-1)).toBe('token');
  expect(without).toContain('1 sink, 1 look-up.\nNo look-up was made: "--candidate ID" says for whom.\n');
  // Reported even if another check failed, so that nobody takes it for fine.
  await api.close();
  expect((await check('--live')).out).toMatch(/live checks? failed\.\nNo look-up was made: /);
});

test.each(['Candidate 20970', '#20970', '0123456789', '0123456789abcdef0123456789abcdef'])(
  'check makes the look-ups for the candidate that messages call %s',
  async (asked) => {
    const { folder, write } = await workplace();
    const api = await endpoint();
    const url = `${api.url}/{{ event.candidateId }}/{{ event.candidateNumericalId }}/{{ event.testId }}`;
    const candidate = { url, allowPrivate: true, fields: { name: { at: '/name' } } };
    const file = await write(
      'config.yaml',
      `${base(folder)}lookups: ${JSON.stringify({ candidate })}\nsinks: {}\nrules: []\n`,
    );
    const came = { candidateId: '0123456789abcdef0123456789abcdef', candidateNumericalId: 20970, testId: 7 };
    const app = await serving(await write('before.yaml', base(folder) + nothing));
    await post(app, { ...came, status: 'Completed' });
    await run(['check', '--candidate', asked, '--config', file]);
    expect(api.calls.map(({ path }) => path)).toEqual([`/hooks/${came.candidateId}/20970/7`]);
  },
);

test('messages of rules for good and for bad results are tried', async () => {
  const { folder, write } = await workplace();
  const rule = (name: string, score: string) =>
    `  - { name: ${name}, when: { candidate.score: ${score} }, then: [ { sink: mail, to: hr@example.com, subject: '{{ test.lead }}' } ] }`;
  const file = await write(
    'config.yaml',
    `${base(folder)}unmatched: silent
catalog: { 1: { name: Backend, lead: Dana }, 2: { name: Design } }
lookups: { candidate: { url: 'https://api.example.com/{{ event.candidateId }}', fields: { score: { at: /score, type: number } } } }
sinks: { mail: { connector: email, url: 'smtps://smtp.example.com', from: hr@example.com } }
rules:
${rule('strong', '{ gte: 80 }')}
${rule('weak', '{ lt: 50 }')}
`,
  );
  const { out } = await run(['check', '--config', file]);
  const lines = out.match(/config\.yaml:\d+:\d+(?=.*for test 2.*prints nothing)/g);
  expect(lines).toHaveLength(2);
});
