import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Worker } from 'node:worker_threads';
import { describe, expect, onTestFinished, test } from 'vitest';
import { readable } from '../../src/pages/rules/config-shown.ts';
import { load } from '../config/tools.ts';
import { endpoint, jsonLines, post, run, settled } from '../commands/tools.ts';
import { barriersOf, logIn, openLoggedIn } from './browser.ts';
import { basic, password, startPages } from './tools.ts';
import { eventually } from '../fixtures/eventually.ts';

const hostile = '<img src=x onerror=alert(1)> "\'& =1+1';

const rules = (url: string) => `
timezone: Europe/Zagreb
catalog:
  1234567: { name: '${hostile.replaceAll("'", "''")}' }
  7654321: { name: Data, team: data }
sinks:
  ats: { connector: webhook, url: '${url}', allowPrivate: true, auth: { bearer: 'literal-secret-1' },
    headers: { X-Custom: "first-line-\\
      second-line" } }
  crm: { connector: webhook, url: '${url}', allowPrivate: true, auth: { bearer: '\${CRM_TOKEN}' } }
rules:
  - name: told
    when: { status: Completed }
    then: [ { sink: ats, headers: { X-Api-Key: literal-secret-2 }, body: { who: '{{ event.candidateId }}', test: '{{ test.name }}', key: '\${CRM_TOKEN}' } } ]
  - name: data
    when: { test.team: data, candidateId: { matches: 'x' } }
    then: [ { sink: crm } ]
  - { name: quiet, when: { status: Canceled }, then: [], silent: true }
`;

const env = { CRM_TOKEN: 'secret-from-the-environment' };

/** Credentials that are written in the file, of which each has to be as it should. */
const literals = (url: string) => `
sinks:
  ats: { connector: webhook, url: '${url}', allowPrivate: true, auth: { basic: { user: u, password: 'literal-secret-1' } },
    headers: { X-Custom: "first-line-\\
      second-line" } }
  slack: { connector: slack, token: xoxb-literal-secret-3 }
  sheet: { connector: google-sheets, spreadsheetId: a-sheet, credentials: adc }
rules:
  - name: told
    when: { status: Completed }
    then:
      - { sink: ats, headers: { X-Api-Key: literal-secret-2 }, body: { who: '{{ event.candidateId }}', apiKey: literal-secret-4 } }
  - { name: quiet, when: { not: { status: Completed } }, then: [ { sink: slack, channel: '#hiring', digest: { every: '\${EVERY:-1h}' } } ] }
  - { name: row, when: { status: Canceled }, then: [ { sink: sheet, tab: All, key: Id, row: { Id: '{{ event.candidateId }}' } } ] }
`;

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };

/** As a browser has it in the editor. */
const textIn = (page: string): string =>
  /<textarea[^>]*>\n?([^<]*)</.exec(page)![1]!.replaceAll(/&(.*?);/g, (_, name: string) => entities[name]!);

async function started(written = rules) {
  const http = await endpoint();
  const pages = await startPages(written(http.url), env);
  await pages.login();
  const token = await pages.csrf();
  const tryConfig = async (config: string) => {
    const answer = await pages.send('/rules/try', { form: { csrf: token, config } });
    return { status: answer.status, text: await answer.text() };
  };
  return { ...pages, http, token, tryConfig };
}

describe('the page', () => {
  test('shows who hears of what, the config as it is written, and no secret', async () => {
    const { page, file, text } = await started();
    const shown = await page('/rules');
    expect(shown).toContain('Data (7654321)');
    expect(shown).toContain('Any other test');
    expect(shown).toContain('Did not take</th>');
    expect(shown).toContain('if candidateId');
    expect(shown).toContain('nobody, as the config says');
    expect(shown).toContain('<span class="chip bad">nobody</span>');
    const line = text.split('\n').findIndex((one) => one.includes('name: told')) + 1;
    expect(shown).toContain(`href="/rules#L${line}"`);
    expect(shown).toContain(`<span id="L${line}"`);
    expect(shown).toContain('${CRM_TOKEN}');
    expect(shown).not.toContain(env.CRM_TOKEN);
    for (const secret of ['literal-secret', 'first-line', 'second-line']) expect(shown).not.toContain(secret);
    expect(shown).not.toContain(password);
    expect(shown).toContain('password: &quot;••hidden••&quot;');
    expect(shown).not.toMatch(/\*\*/);
    expect(shown).not.toContain('<img src=x');
    expect(shown.length).toBeLessThan(150_000);

    // What came into force later.
    await writeFile(file, text.replace('name: told', 'name: told-anew'));
    await eventually(async () => expect(await page('/rules')).toContain('told-anew'));
    await writeFile(file, text.replace('name: told', 'nme: refused'));
    await eventually(async () => expect(await page('/')).toContain('refused'));
    expect(await page('/rules')).toContain('told-anew');
  });

  test('says what the rules make of an event, and what is wrong with the question', async () => {
    const { page } = await started();
    const query = new URLSearchParams({ status: 'Completed', test: '7654321', candidate: `x${hostile}` });
    const shown = await page(`/rules?${query.toString()}`);
    expect(shown).toContain('who: x&lt;img src=x');
    expect(shown).toContain('key: &quot;***&quot;');
    expect(shown).not.toContain(env.CRM_TOKEN);
    expect(shown).not.toContain('<img src=x');
    expect(await page('/rules?status=Canceled&test=1')).toContain('nobody hears of this event');
    for (const wrong of [
      'status=Done&test=1',
      'status=Completed&test=1e9',
      'status=Completed&test=1&at=soon',
    ])
      expect(await page(`/rules?${wrong}`)).toContain('An event has one of the statuses');
  });

  test('takes facts for an event, where the config looks some up', async () => {
    const pages = await startPages(
      `lookups: { candidate: { url: 'https://x.example.com/{{ event.candidateId }}', fields: { score: { at: /s, type: number } } } }
sinks: { ats: { connector: webhook, url: 'https://ats.example.com' } }
rules: [ { name: strong, when: { candidate.score: { gte: 80 } }, then: [ { sink: ats, body: { score: '{{ candidate.score }}' } } ] } ]
unmatched: silent
`,
      env,
    );
    await pages.login();
    const tried = (facts: string) =>
      pages.page(`/rules?${new URLSearchParams({ status: 'Completed', test: '1', facts }).toString()}`);
    expect(await tried(' candidate.score=87, ')).toContain('score: 87');
    expect(await tried('')).toContain('candidate.score is unknown');
    expect(await tried('candidate.scor=87')).toContain('did you mean &quot;candidate.score&quot;');
  });

  test('tries a pasted config: its mistakes, what would become other, and nothing from outside of it', async () => {
    const { app, file, text, folder, http, send, tryConfig } = await started();
    await post(app, { candidateId: '6f1c2d3e4a5b4c6d8e7f0a1b2c3d4e5f' });
    await settled(file);
    const files = join(folder, 'secrets');
    await mkdir(files);
    await writeFile(join(files, 'one'), 'secret-in-a-file');

    const broken = await tryConfig(text.replace('name: told', `nme: told${hostile}`));
    expect(broken.status).toBe(200);
    expect(broken.text).toContain('this config would be refused');
    const withLookup = `lookups: { one: { url: '\${API}/{{ event.testId }}', fields: { name: { at: /n } } } }
sinks: { ats: { connector: webhook, url: '\${ATS}' } }
rules: [ { name: told, when: { one.name: absent }, then: [ { sink: ats } ] } ]
unmatched: silent
`;
    expect((await tryConfig(withLookup)).text).toContain('1 rule, 1 sink, 1 look-up.');
    expect(broken.text).toMatch(/line 17, column 5<\/a\s*>: unknown key/);
    expect(broken.text).not.toContain('<img src=x');

    const probing = text
      .replace("who: '{{ event.candidateId }}'", `who: '\${CRM_TOKEN} \${PATH} \${file:${files}/one}'`)
      .replace("bearer: 'literal-secret-1'", `bearer: '\${file:${files}/one}'`);
    const probed = await tryConfig(probing);
    expect(probed.text).toMatch(/can be used, with \d warnings?: 3 rules, 2 sinks/);
    expect(probed.text).toContain('1 event compared: 1 would be delivered differently');
    expect(probed.text).toMatch(/Candidate 6f1c2d3e…: Completed,\s+&lt;img/);
    expect(probed.text).toMatch(/<span class="muted">rule “[^”<]+”<\/span>/);
    expect(probed.text).toContain(`\${CRM_TOKEN} \${PATH} \${file:${files}/one}`);
    for (const secret of [env.CRM_TOKEN, 'secret-in-a-file', String(process.env['PATH'])])
      expect(probed.text).not.toContain(secret);

    // A fault would say what was found in the place of a reference.
    const places = text
      .replace('Europe/Zagreb', `'\${PATH}'`)
      .replace('level: fatal', `level: '\${file:${files}/one}'`);
    const faulty = await tryConfig(places);
    expect(faulty.text).toMatch(/can be used, with \d warnings?: 3 rules/);
    for (const secret of ['secret-in-a-file', String(process.env['PATH'])])
      expect(faulty.text).not.toContain(secret);

    const same = await tryConfig(text);
    expect(same.text).toContain('1 event compared: everything would be delivered as it was decided');
    // A table is not read: the catalog in force stands in for it.
    const tabled = await tryConfig(
      text.replace(/catalog:\n(?: {2}.*\n)+/, `catalog: { file: ${files}/one }\n`),
    );
    expect(tabled.text).toContain('1 event compared: everything would be delivered as it was decided');
    expect((await tryConfig('x'.repeat(300_000))).status).toBe(413);
    const forged = await send('/rules/try', { form: { config: text } });
    expect(forged.status).toBe(403);
    expect(http.calls).toHaveLength(1);
  });

  test('the editor begins with the config in force: what it hides is compared as what it is, and can be had in no way', async () => {
    const { app, file, text: written, page, tryConfig } = await started(literals);
    await post(app, { candidateId: 'Dana' });
    await settled(file);
    const begun = textIn(await page('/rules'));
    expect(begun).toContain('X-Api-Key: ••hidden•• }');
    expect(begun).toContain('key: Id');
    const same = await tryConfig(begun.replace('connector.db"', '$&, secretKey: ••hidden••'));
    expect(same.text).toContain('This config is good');
    expect(same.text).toContain('1 event compared: everything would be delivered as it was decided');
    expect(textIn(same.text)).toContain('secretKey: ••hidden••');
    const other = await tryConfig(begun.replace("body: { who: '", "body: { key: ••hidden••, whom: '"));
    expect(other.text).toContain('1 event compared: 1 would be delivered differently');
    const moved = await tryConfig(begun.replace('X-Api-Key: ••hidden••', 'X-Api-Key: another'));
    expect(moved.text).toContain('1 would be delivered differently');
    // Of what decided the events, too, if that is another one.
    await writeFile(
      file,
      written.replaceAll('literal-secret', 'rotated-secret').replace('name: quiet', 'name: rotated'),
    );
    await eventually(async () => expect(await page('/rules')).toContain('rotated'));
    const rotated = await tryConfig(textIn(await page('/rules')).replace('name: told', '$&-anew'));
    expect(rotated.text).toContain('1 would be delivered differently');
    for (const { text } of [same, other, moved, rotated]) expect(text).not.toMatch(/-secret-|first-line/);
  });

  test('checks what is written, but not while a config is tried: that goes first', async () => {
    const { text, token, send, tryConfig } = await started();
    const check = async (config: string) => {
      const answer = await send('/rules/check', { form: { csrf: token, config } });
      return { status: answer.status, text: await answer.text() };
    };
    const wrong = await check(text.replace('name: told', 'nme: told'));
    expect(wrong.status).toBe(200);
    expect(wrong.text).toMatch(/^<div id="checked">[^]*data-line="17" data-column="5"/);
    expect(wrong.text).not.toContain('compared');
    expect((await check('x'.repeat(300_000))).status).toBe(413);
    const [first, second] = await Promise.all([check(text), check(text)]);
    expect(new Set([first.status, second.status])).toEqual(new Set([200, 503]));
    const [checked, tried] = await Promise.all([check(text), tryConfig(text)]);
    expect([checked.status, tried.status]).toEqual([503, 200]);
  });

  test('tries one config at a time', async () => {
    const { text, tryConfig } = await started();
    const tried = await Promise.all([tryConfig(text), tryConfig(text)]);
    expect(new Set(tried.map(({ status }) => status))).toEqual(new Set([200, 503]));
  });
});

test('/api/routes has what `routes --json` prints, with the policies, also after a reload', async () => {
  const { app, file, text } = await started();
  const answered = async () =>
    (await fetch(`${app.adminUrl}/api/routes`, { headers: basic() })).json() as Promise<
      Record<string, unknown>
    >;
  expect((await answered())['policies']).toEqual([]);
  const always = '{ always: { sink: ats, when: { status: Completed } } }';
  const never = '{ never: { sink: crm, when: { candidateId: "${CRM_TOKEN}" } } }';
  await writeFile(file, `${text}policies: [ ${always}, ${never} ]\n`);
  await expect.poll(async () => (await answered())['policies'], { timeout: 20_000 }).toHaveLength(2);
  const [printed] = jsonLines(await run(['routes', '--json', '--config', file], env));
  expect(await answered()).toEqual(printed);
  expect(printed!['policies']).toMatchObject([{ holds: true }, { holds: true }]);
});

test('a config that is being tried is given up when the connector stops: the next one need not wait for it', async () => {
  const { app, tryConfig } = await started();
  const running = new Set<Worker>();
  const begun = (worker: Worker) => {
    running.add(worker);
    worker.once('exit', () => running.delete(worker));
  };
  process.on('worker', begun);
  onTestFinished(() => void process.off('worker', begun));
  const body = '{% for i in (1..30000) %}{{ i }}{% endfor %}';
  const more = Array.from(
    { length: 2000 },
    (_, n) => `  - { name: r${n}, when: {}, then: [ { sink: ats, body: '${n} ${body}' } ] }\n`,
  );
  const trial = tryConfig(`${rules('https://ats.example')}${more.join('')}`).catch(() => null);
  await eventually(() => expect(running.size).toBeGreaterThan(0));
  await app.stop();
  await eventually(() => expect(running.size).toBe(0));
  await trial;
});

test('in a browser an event and a config are tried, in light on a desktop and in dark on a phone', async () => {
  const { app, text } = await started();
  const page = await openLoggedIn(`${app.adminUrl}/rules`);
  await page.getByRole('heading', { name: 'Who hears of what' }).waitFor();
  await page.getByRole('link', { name: 'told' }).first().click();
  await page.locator('.config span:target').getByText('name: told').waitFor();
  expect(await barriersOf(page)).toEqual([]);

  await page.setViewportSize({ width: 390, height: 700 });
  const cut = `Array.from(document.querySelectorAll('.routes td, .table:has(.routes)')).filter((one) =>
    one.scrollWidth > one.clientWidth || one.getBoundingClientRect().right > innerWidth).length`;
  expect(await page.evaluate(cut)).toBe(0);

  await page.getByLabel('Test id').fill('1234567');
  await page.getByLabel('When it comes').fill('2026-05-01T08:00');
  await page.getByRole('button', { name: 'Try it' }).click();
  await page.getByRole('heading', { name: 'Would be sent' }).waitFor();
  expect(await barriersOf(page)).toEqual([]);

  // A check under way ends when the form is sent: it would be refused until the config is tried.
  await page.route('**/rules/check', () => {});
  const [asked, ended] = [page.waitForRequest('**/rules/check'), page.waitForEvent('requestfailed')];
  await page.route('**/rules/try', async (route) => {
    await ended;
    await route.continue();
  });
  const editor = page.getByLabel('A whole config');
  await editor.fill(text.replace('status: Completed', 'status: Complete'));
  await asked;
  await page.setViewportSize({ width: 390, height: 700 });
  await page.getByRole('button', { name: 'Check it' }).click();
  // What came of it is in sight, also on a phone, where the editor alone fills the screen.
  await page.getByText('this config would be refused').waitFor();
  const bottom = `document.querySelector('#checked .notice').getBoundingClientRect().bottom`;
  await expect.poll(() => page.evaluate(`${bottom} > 0 && ${bottom} < innerHeight`)).toBe(true);
  expect(await barriersOf(page)).toEqual([]);
});

test('a text that was sent after the session had ended is there again after the login', async () => {
  const { app } = await started();
  const page = await openLoggedIn(`${app.adminUrl}/rules`);
  const editor = page.getByLabel('A whole config');
  const written = `${await editor.inputValue()}\n# an hour's work`;
  // What is written is checked while somebody writes, which the ended session would refuse.
  await page.route('**/rules/check', (route) => route.abort());
  await editor.fill(written);
  await page.context().clearCookies();
  await page.getByRole('button', { name: 'Check it' }).click();
  await page.getByText('Your session has ended').waitFor();
  await page.unroute('**/rules/check');
  await logIn(page);
  await page.getByText('this config can be used', { exact: false }).first().waitFor();
  expect(await editor.inputValue()).toBe(written);
  await page.getByText('This is the text that was sent last').waitFor();
  // Once it was tried, it is not brought back: a page that is opened anew has the config in force.
  await page.getByRole('button', { name: 'Check it' }).click();
  await page.waitForURL('**/rules/try*');
  await page.goto(`${app.adminUrl}/rules`);
  expect(await editor.inputValue()).not.toContain("an hour's work");
  expect(await page.getByText('This is the text that was sent last').isVisible()).toBe(false);
});

test('a text of which no result came is not shown as the config in force', async () => {
  const { app } = await started();
  const page = await openLoggedIn(`${app.adminUrl}/rules`);
  const editor = page.getByLabel('A whole config');
  const inForce = await editor.inputValue();
  await editor.fill(`${inForce}\n# tried`);
  await page.route('**/rules/try', (route) => route.fulfill({ body: 'Bad gateway' }));
  await page.getByRole('button', { name: 'Check it' }).click();
  await page.getByText('Bad gateway').waitFor();
  await page.goto(`${app.adminUrl}/rules`);
  await page.getByText('This is the text that was sent last').waitFor();
  expect(await editor.inputValue()).toContain('# tried');
  await page.getByRole('link', { name: 'Begin with the config in force' }).click();
  await expect.poll(() => editor.inputValue()).toBe(inForce);
  expect(await page.getByText('This is the text that was sent last').isVisible()).toBe(false);
});

test('while somebody writes, what is wrong is said of what stands there, and leads to it', async () => {
  const { app } = await started();
  const page = await openLoggedIn(`${app.adminUrl}/rules`);
  const editor = page.getByLabel('A whole config');
  const begun = await editor.inputValue();
  expect(begun).toContain('X-Api-Key: ••hidden••');
  const layer = `Array.from(document.querySelector('.editor pre').children, (line) => line.textContent).join('\\n')`;
  expect(await page.evaluate(layer)).toBe(begun);
  // An answer that comes late says nothing of what has been written meanwhile.
  const late = Promise.withResolvers<void>();
  let asked = 0;
  await page.route('**/rules/check', async (route) => {
    asked += 1;
    if (asked === 1) await late.promise;
    await route.continue();
  });
  await editor.fill(begun.replace('name: told', 'nme: told'));
  await expect.poll(() => asked).toBe(1);
  await editor.fill(begun.replace('status: Completed', 'status: Complete'));
  late.resolve();
  const problem = page.getByRole('link', { name: /^line/ });
  await problem.and(page.locator('[data-severity=error]')).waitFor();
  expect(asked).toBe(2);
  expect(await problem.first().textContent()).toBe('line 18, column 21');
  await page.getByRole('status').getByText('1 error: this config would be refused.').waitFor();
  expect(await page.locator('.editor pre .error').textContent()).toContain('status: Complete ');
  expect(await barriersOf(page)).toEqual([]);
  // The editor shows a few lines only, and then those around the problem.
  await page.setViewportSize({ width: 390, height: 300 });
  await problem.first().press('Enter');
  const isShown = `(() => {
    const [frame, line] = ['.editor', '.editor pre .error'].map((one) => document.querySelector(one).getBoundingClientRect());
    return line.top >= frame.top && line.bottom <= frame.bottom;
  })()`;
  expect(await page.evaluate(isShown)).toBe(true);
  await page.keyboard.press('Shift+End');
  const chosen =
    'const area = document.activeElement; area.value.slice(area.selectionStart, area.selectionEnd)';
  expect(await page.evaluate(chosen)).toBe('Complete }');
  await page.keyboard.type('Completed }');
  await page.getByRole('status').getByText('can be used').waitFor();
  expect(await problem.and(page.locator('[data-severity=error]')).count()).toBe(0);
});

test('no line is shown of a text that cannot be parsed, or is too long', async () => {
  for (const text of ['password: "hunter2\nrules: []\n', `rules: [] # ${'x'.repeat(60_000)}`])
    expect((await readable(text, load('rules: []'))).lines).toBeNull();
});
