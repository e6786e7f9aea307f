import { chmod, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { base, jsonLines, post, run, serving, stack, workplace } from './tools.ts';

const env = { TOKEN: 'xoxb-the-token', WORD: 'hush-hush-secret' };

const actions = {
  hiring: `{ sink: slack, channel: '#hiring', text: '{{ event.candidateId }}: {{ event.status }}' }`,
  louder: `{ sink: slack, channel: '#hiring', text: '{{ event.candidateId }}!' }`,
  ops: `{ sink: slack, channel: '#ops', text: 'canceled' }`,
};

const sinks = `
sinks:
  slack: { connector: slack, token: '\${TOKEN}', apiUrl: 'http://127.0.0.1:1/api/' }
  page: { connector: slack, token: '\${TOKEN}', apiUrl: 'http://127.0.0.1:1/api/' }
`;

const rulesText = (completed: string, others: string) => `${sinks}
rules:
  - { name: completed, when: { status: Completed }, then: [ ${completed} ] }
  - { name: others, when: { status: { not: Completed } }, then: [ ${others} ] }
`;

/** A store with three events that `config.yaml` decided. The connector has stopped. */
async function stored() {
  const { folder, write } = await workplace();
  const file = await write('config.yaml', base(folder) + rulesText(actions.hiring, ''));
  const app = await serving(file, env);
  await post(app, { candidateId: 'Dana' });
  await post(app, { candidateId: 'Robin' });
  await post(app, { candidateId: 'Kim', status: 'Canceled' });
  return {
    folder,
    write,
    backtest: async (text: string, ...argv: string[]) => {
      const next = await write('next.yaml', base(folder) + text);
      return run(['backtest', next, '--config', file, ...argv], env);
    },
  };
}

describe('backtest', () => {
  test('of a config that decides alike says so and exits 0; of one with problems, it lists them and exits 1', async () => {
    const { backtest } = await stored();
    const renamed = rulesText(actions.hiring, '').replace('name: completed', 'name: done');
    expect(await backtest(renamed)).toEqual({
      code: 0,
      out: '3 events compared: everything would be delivered as it was decided.\n',
      err: '',
    });
    expect(await backtest(renamed, '--json')).toEqual({ code: 0, out: '', err: '' });

    // Only newer events are looked at.
    expect(await backtest(rulesText('', ''), '--since', '1h')).toMatchObject({ code: 3 });
    const since = await backtest(rulesText('', ''), '--since', '0s');
    expect(since).toMatchObject({ code: 0, out: expect.stringMatching(/^0 events compared/) });

    const wrong = await backtest(rulesText(actions.hiring.replace('slack', 'slak'), ''));
    expect(wrong).toMatchObject({ code: 1, out: '', err: expect.not.stringMatching(stack) });
    expect(wrong.err).toMatch(/next\.yaml:\d+:\d+: error: there is no sink "slak"/);
  });

  test('shows what would be otherwise, how often, with examples, and exits 3', async () => {
    const { backtest } = await stored();
    const { code, out, err } = await backtest(rulesText(actions.louder, actions.ops));
    expect({ code, err }).toEqual({ code: 3, err: '' });
    expect(out).toMatch(/^3 events compared: 3 would be delivered differently\.\n/);
    expect(out).toContain('  #hiring gets as many messages as before; 2 of them say something else.\n');
    expect(out).toContain('  #ops gets 1 message more.\n');
    expect(out).toContain('  2 × ~ changed  slack (rule completed): text\n');
    expect(out).toContain('  1 × + added  slack (rule others)\n');
    expect(out).toMatch(/evt_\w+ {2}.* UTC {2}Canceled {2}test 1234567 {2}candidate Kim\n {4}\+ added/);
    expect(out).toContain('      channel: "#ops"\n      text: "canceled"\n');
    expect(out).toMatch(/candidate Robin\n {4}~ changed .*\n {6}text: "Robin: Completed" → "Robin!"\n/);
    expect(out).not.toContain('candidate Dana');
  });

  test('--json prints a line for each event that differs', async () => {
    const { backtest } = await stored();
    const ran = await backtest(rulesText(actions.hiring, actions.ops), '--json');
    expect(ran.code).toBe(3);
    expect(jsonLines(ran)).toStrictEqual([
      {
        id: expect.stringMatching(/^evt_/),
        candidateId: 'Kim',
        candidateNumericalId: null,
        testId: 1234567,
        status: 'Canceled',
        receivedAt: expect.stringMatching(/Z$/),
        correlationId: expect.any(String),
        traceId: expect.any(String),
        decided: true,
        facts: {},
        added: [
          {
            rule: 'others',
            action: 0,
            sink: 'slack',
            connector: 'slack',
            dueAt: expect.stringMatching(/Z$/),
            fields: { channel: '#ops', text: 'canceled' },
          },
        ],
        removed: [],
        changed: [],
      },
    ]);
    const [robin] = jsonLines(await backtest(rulesText(actions.louder, ''), '--json'));
    expect(robin).toMatchObject({
      candidateId: 'Robin',
      changed: [
        {
          rule: 'completed',
          action: 0,
          sink: 'slack',
          connector: 'slack',
          fields: { text: { before: 'Robin: Completed', after: 'Robin!' } },
        },
      ],
    });
  });

  test('never shows a secret that only the old config names', async () => {
    const { folder, write } = await workplace();
    const old = { ...env, SECRET_WORD: 'open-sesame' };
    const text = rulesText(actions.hiring.replace("text: '", "text: '${SECRET_WORD} "), '');
    const file = await write('config.yaml', base(folder) + text);
    await post(await serving(file, old), { candidateId: 'Dana' });
    const next = await write('next.yaml', base(folder) + rulesText(actions.hiring, ''));
    for (const argv of [[], ['--json']]) {
      const { code, out } = await run(['backtest', next, '--config', file, ...argv], old);
      expect(code).toBe(3);
      expect(out).toContain('*** Dana');
      expect(out).not.toContain('open-sesame');
    }
  });

  test('never shows a secret that only a config before the one in force had, written in it or from outside', async () => {
    const { folder, write } = await workplace();
    const ats = `ats: { connector: webhook, url: 'http://127.0.0.1:1/', allowPrivate: true }`;
    const text = (action: string) =>
      base(folder) + rulesText(action, '').replace('sinks:', `sinks:\n  ${ats}`);
    const action = "{ sink: ats, path: /in?api_key=k93kd02jf83Qx7, body: { key: '${SECRET_WORD}' } }";
    const file = await write('config.yaml', text(action));
    const old = { ...env, SECRET_WORD: 'open-sesame' };
    await post(await serving(file, old), { candidateId: 'Dana' });
    await write('config.yaml', text('{ sink: ats }'));
    const next = await write('next.yaml', text('{ sink: ats, path: /other }'));
    const html = join(folder, 'backtest.html');
    const shown = [];
    for (const argv of [['--html', html], ['--json']])
      shown.push((await run(['backtest', next, '--config', file, ...argv], old)).out);
    shown.push(await readFile(html, 'utf8'));
    for (const one of shown) {
      expect(one).toContain('api_key=***');
      expect(one).not.toMatch(/k93kd02jf83Qx7|open-sesame/);
    }
  });

  test('--json stays JSON where a secret looks like a number', async () => {
    const { backtest } = await stored();
    const ats = `ats: { connector: webhook, url: 'http://127.0.0.1:1/', headers: { X-Api-Key: '1234567' }, allowPrivate: true }`;
    const action = `{ sink: ats, body: { test: '{{ event.testId }}', key: '1234567' } }`;
    const text = rulesText(actions.hiring, action).replace('sinks:', `sinks:\n  ${ats}`);
    expect(jsonLines(await backtest(text, '--json'))).toMatchObject([
      { testId: 1_234_567, added: [{ fields: { body: { test: 1_234_567, key: '***' } } }] },
    ]);
  });

  test('says of which events it cannot tell, and exits 1', async () => {
    const { folder, write } = await workplace();
    const text = rulesText(actions.hiring.replace('#hiring', '${WORD}'), '');
    const file = await write('config.yaml', base(folder) + text);
    await post(await serving(file, env), { candidateId: 'Dana' });
    const next = await write('next.yaml', base(folder) + rulesText(actions.hiring, ''));
    const { code, err } = await run(['backtest', next, '--config', next], { TOKEN: env.TOKEN });
    expect(code).toBe(1);
    expect(err).toMatch(/^1 event could not be compared: .*WORD/);
  });

  test('says in sentences who gets more and who fewer, and a mail as text', async () => {
    const { folder, write } = await workplace();
    const withMail = (to: string, html: string) =>
      `${sinks}  post: { connector: email, url: 'smtp://127.0.0.1', from: hr@example.com }
rules:
  - { name: mailed, when: {}, then: [ { sink: post, to: [ ${to} ], subject: 'About {{ event.candidateId }}', html: ${html} } ] }
`;
    const html = '"<style>p{}</style><p>Hello</p><p>{{ event.candidateId }}</p>"';
    const file = await write(
      'config.yaml',
      base(folder) + withMail('robin@example.com, kim@example.com', html),
    );
    const app = await serving(file, env);
    for (const candidateId of ['Dana', 'Lee']) await post(app, { candidateId });
    const next = await write(
      'next.yaml',
      base(folder) + withMail('kim@example.com, ops@example.com', html.replace('Hello', 'Hi')),
    );
    const { out } = await run(['backtest', next, '--config', file], env);
    expect(out).toContain('  robin@example.com gets 2 mails fewer.\n');
    expect(out).toContain('  ops@example.com gets 2 mails more.\n');
    expect(out).toContain('  kim@example.com gets as many mails as before; 2 of them say something else.\n');
    expect(out).toContain('      text:\n        - Hello\n        + Hi\n');
    expect(out).not.toContain('<p>');
    expect(out).toMatch(/\n {2}and 1 more event\n$/);
  });
});

describe('backtest --html', () => {
  test('writes the same as one page, in which all that comes from outside is text', async () => {
    const { folder, backtest } = await stored();
    const file = join(folder, 'page.html');
    const hostile = "'<script alert(1)'";
    const louder = actions.louder.replace(/'\{\{.*'/, hostile);
    const { code, out } = await backtest(rulesText(louder, actions.ops), '--html', file);
    expect(code).toBe(3);
    expect(out).toContain('#ops gets 1 message more.');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const page = await readFile(file, 'utf8');
    expect(page).toContain('#ops gets 1 message more.');
    expect(page).toMatch(/Before<\/h4>\s*<div class="preview">[^]*Robin: Completed[^]*After<\/h4>/);
    expect(page).toContain('1 more event would be delivered differently, in the ways that “By rule” counts.');
    expect(page).toContain('&lt;script alert(1)');
    expect(page).not.toMatch(/<script|<link|<img|src=|\bon\w+=/);
    expect(page).not.toContain(env.TOKEN);

    // The next page replaces it, but no other file. A place that cannot be written is reported at once.
    await chmod(file, 0o644);
    expect((await backtest(rulesText(actions.hiring, ''), '--html', file)).code).toBe(0);
    expect(await readFile(file, 'utf8')).not.toContain('#ops');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const config = join(folder, 'config.yaml');
    const before = await readFile(config, 'utf8');
    expect(await backtest(rulesText('', ''), '--html', config)).toEqual({
      code: 1,
      out: '',
      err: expect.stringContaining('config.yaml is there already, and is no page of `backtest`'),
    });
    expect(await readFile(config, 'utf8')).toBe(before);
    for (const place of [folder, join(folder, 'none', 'page.html'), join(config, 'page.html')])
      expect(await backtest(rulesText('', ''), '--html', place)).toEqual({
        code: 1,
        out: '',
        err: expect.stringMatching(/ cannot be written: (?!.*\n +at )/),
      });
  });

  test('shows no keys of an action as the body of a call: the usual body is none of them', async () => {
    const { folder, backtest } = await stored();
    const file = join(folder, 'page.html');
    const called = (path: string) =>
      `sinks: { ats: { connector: webhook, url: 'https://ats.example.com' } }\nrules: [ { name: called, when: {}, then: [ { sink: ats, path: ${path} } ] } ]\n`;
    await backtest(called('/new'), '--html', file);
    const page = await readFile(file, 'utf8');
    expect(page).toMatch(/POST \/new<\/div>\s*<p>The usual body: /);
    expect(page).not.toContain('{}');
  });

  test('names the test of an example, and tells its time by the clock of the config', async () => {
    const { folder, backtest } = await stored();
    const file = join(folder, 'page.html');
    const ofTeam = "timezone: Asia/Tokyo\ncatalog: { 1234567: { name: 'Data & more' } }\n";
    await backtest(ofTeam + rulesText(actions.louder, actions.ops), '--html', file);
    const page = await readFile(file, 'utf8');
    expect(page).toMatch(
      /Candidate Robin: Completed,\s+Data &amp; more\s+<span class="muted small">[^<]+ GMT\+9, evt_/,
    );
    await backtest(rulesText(actions.louder, actions.ops), '--html', file);
    expect(await readFile(file, 'utf8')).toMatch(
      /Candidate Robin: Completed,\s+Test 1234567\s+<span[^>]+>[^<]+ UTC, evt_/,
    );
  });

  test('is bounded, however much differs, and counts the rest', async () => {
    const long = (n: number) =>
      `  - { name: r${n}, when: {}, then: [ { sink: page, channel: 'c${n}', text: '${'<'.repeat(3900)}' } ] }\n`;
    const { folder, backtest } = await stored();
    const file = join(folder, 'page.html');
    const many = Array.from({ length: 40 }, (_, n) => long(n)).join('');
    const { code } = await backtest(rulesText(actions.hiring, actions.ops) + many, '--html', file);
    expect(code).toBe(3);
    const page = await readFile(file, 'utf8');
    expect(page.length).toBeLessThan(150_000);
    expect(page).toContain('There are other differences in 21 more places.');
    expect(page).toContain(
      '3 more events would be delivered differently, in the ways that “By rule” counts.',
    );
  });
});
