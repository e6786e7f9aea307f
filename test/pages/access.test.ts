import { request } from 'node:http';
import { writeFile } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { endpoint, post, run, settled } from '../commands/tools.ts';
import { basic, password, startPages, wordsOf } from './tools.ts';
import { eventually } from '../fixtures/eventually.ts';

/** fetch sets Host itself. */
function statusFor(url: string, host: string, headers: Record<string, string> = {}): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const sent = request(url, { headers: { host, accept: 'text/html', ...headers } }, (res) => {
    res.resume();
    resolve(res.statusCode ?? 0);
  });
  sent.on('error', reject).end();
  return promise;
}

describe('with a password', () => {
  test('a browser logs in, goes on to where it wanted to, and logs out', async () => {
    const { send, login, csrf } = await startPages();
    const asked = await send('/events?status=Completed');
    expect(asked.status).toBe(303);
    expect(asked.headers.get('location')).toBe('/login?next=%2Fevents%3Fstatus%3DCompleted');
    const form = await (await send('/login?next=%2Fevents')).text();
    expect(form).toContain('name="next" value="/events"');

    const inside = await login(password, { next: '/events' });
    expect([inside.status, inside.headers.get('location')]).toEqual([303, '/events']);
    const [cookie] = inside.headers.getSetCookie();
    expect(cookie).toMatch(/; HttpOnly; SameSite=Strict$/);
    expect((await send('/events')).status).toBe(200);

    const out = await send('/logout', { form: { csrf: await csrf() } });
    expect(out.headers.get('location')).toBe('/login');
    const old = { cookie: (cookie ?? '').split(';')[0] ?? '' };
    expect((await send('/events', { headers: old })).status).toBe(303);
  });

  test('the cookie is only for https where the browser uses that', async () => {
    const { send } = await startPages();
    const form = { password };
    const secure = await send('/login', { form, headers: { 'x-forwarded-proto': 'https' } });
    expect(secure.headers.get('set-cookie')).toMatch(/; Secure$/);
  });

  test('who looks after two at ports of one machine stays logged in to both', async () => {
    const both = [await startPages(), await startPages()];
    // Cookies are those of a host, whatever the port is.
    const jar = new Map<string, string>();
    for (const { login } of both) {
      const [name = '', value = ''] = /^([^=]+)=([^;]+)/
        .exec((await login()).headers.get('set-cookie')!)!
        .slice(1);
      jar.set(name, value);
    }
    const cookie = [...jar].map((pair) => pair.join('=')).join('; ');
    const seen = await Promise.all(both.map(({ send }) => send('/events', { headers: { cookie } })));
    expect(seen.map(({ status }) => status)).toEqual([200, 200]);
  });

  test('a wrong one shows the form again, with where it was to lead', async () => {
    const { login } = await startPages();
    const refused = await login('wrong', { next: '/rules' });
    expect(refused.status).toBe(401);
    const text = await refused.text();
    expect(text).toContain('This password is wrong.');
    expect(text).toContain('name="next" value="/rules"');
    expect(refused.headers.getSetCookie()).toEqual([]);
  });

  test('after many wrong ones, who is logged in or was right before is let in, and the form says what is the matter', async () => {
    const { send, login } = await startPages();
    await login();
    const wrong = Array.from({ length: 12 }, (_, n) => send('/login', { form: { password: `wrong ${n}` } }));
    const statuses = (await Promise.all(wrong)).map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([401, 429]));
    expect((await send('/')).status).toBe(200);
    const tries = await Promise.all([login('one'), login('two'), login(), login()]);
    expect(tries.slice(2).map(({ status }) => status)).toEqual([303, 303]);
    const late = tries.find(({ status }) => status === 429);
    expect(late?.headers.get('retry-after')).toBe('1');
    expect(await late?.text()).toContain('There were too many wrong passwords just now.');
  });

  test.each(['//evil.example', '/\\evil.example', 'https://evil.example/', '/login', ''])(
    'the login does not lead to %j',
    async (next) => {
      const { login } = await startPages();
      expect((await login(password, { next })).headers.get('location')).toBe('/');
    },
  );

  test('a new one ends the sessions of the old one', async () => {
    const { send, login, file, text } = await startPages();
    await login();
    expect((await send('/')).status).toBe(200);
    await writeFile(file, text.replace(password, 'another one altogether'));
    await eventually(async () => expect((await send('/')).status).toBe(303));
  });

  test('what changes something needs the token of its page, and must not come from another site', async () => {
    const { app, send, login, csrf } = await startPages();
    await login();
    const token = await csrf();
    expect((await send('/logout', { form: {} })).status).toBe(403);
    expect((await send('/logout', { form: { csrf: 'x' } })).status).toBe(403);
    for (const headers of [
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
    ])
      expect((await send('/logout', { form: { csrf: token }, headers })).status).toBe(403);
    const ours = { origin: app.adminUrl, 'sec-fetch-site': 'same-origin' };
    expect((await send('/logout', { form: { csrf: token }, headers: ours })).status).toBe(303);
  });

  test('a proxy may change the header Host where the browser says itself that the form is of this site; else the answer says so', async () => {
    const { send } = await startPages();
    const logIn = (site: object) =>
      send('/login', { form: { password }, headers: { origin: 'https://connector.example.com', ...site } });
    expect((await logIn({ 'sec-fetch-site': 'same-origin' })).status).toBe(303);
    const refused = await logIn({});
    expect([refused.status, await refused.text()]).toEqual([403, expect.stringContaining('header Host')]);
  });

  test('a program has it in each request, and needs no token; but no other site may use it', async () => {
    const { app, send } = await startPages();
    expect((await send('/events', { headers: basic('grafana') })).status).toBe(200);
    const change = (headers: Record<string, string>) =>
      fetch(`${app.adminUrl}/logout`, { method: 'POST', redirect: 'manual', headers });
    expect((await change(basic('x'))).status).toBe(303);
    expect((await change({ ...basic('x'), origin: 'https://evil.example' })).status).toBe(403);
  });

  test('a browser whose proxy asks for a password of its own, and passes that on, comes to the login', async () => {
    const { send, login } = await startPages();
    const ofProxy = basic('dana', 'password of the proxy');
    const asked = await send('/events', { headers: ofProxy });
    expect([asked.status, asked.headers.get('location')]).toEqual([303, '/login?next=%2Fevents']);
    await login();
    expect((await send('/events', { headers: ofProxy })).status).toBe(200);
  });

  test('a session is known only under the name of this server that it began with', async () => {
    const { app, login } = await startPages();
    const cookie = (await login()).headers.getSetCookie()[0]?.split(';')[0] ?? '';
    const { host } = new URL(app.adminUrl);
    expect(await statusFor(app.adminUrl, host, { cookie })).toBe(200);
    expect(await statusFor(app.adminUrl, 'evil.example', { cookie })).toBe(303);
  });

  test('a form of an ended session leads back to its page after the login', async () => {
    const { app, send } = await startPages();
    const referer = `${app.adminUrl}/attention?sink=slack`;
    const asked = await send('/logout', { form: {}, headers: { referer } });
    expect(asked.headers.get('location')).toBe('/login?next=%2Fattention%3Fsink%3Dslack');
    // Whoever meant to change something hears that nothing was.
    const change = await send('/attention/change', { form: {}, headers: { referer } });
    const login = await send(change.headers.get('location') ?? '');
    expect(await login.text()).toContain('Your session has ended, so nothing was done.');
    expect(await (await send('/login?next=%2Fattention')).text()).not.toContain('ended');
    const foreign = await send('/logout', { form: {}, headers: { referer: 'https://evil.example/x' } });
    expect(foreign.headers.get('location')).toBe('/login');
  });

  test('a form of the session before is refused by a page that leads back, and by a problem for programs', async () => {
    const { app, send, login, csrf } = await startPages();
    await login();
    const old = { csrf: await csrf() };
    // In another tab, after a restart or twelve hours.
    await login();
    const referer = `${app.adminUrl}/attention?sink=slack`;
    for (const path of ['/attention/change', '/logout']) {
      const refused = await send(path, { form: old, headers: { referer } });
      expect([refused.status, refused.headers.get('content-type')]).toEqual([
        403,
        'text/html; charset=utf-8',
      ]);
      const shown = await refused.text();
      expect(shown).toContain('Nothing was done');
      expect(shown).toContain('href="/attention?sink=slack"');
    }
    expect((await send('/events')).status).toBe(200);
    const program = await send('/attention/change', { form: old, headers: { accept: '*/*' } });
    expect([program.status, program.headers.get('content-type')]).toEqual([403, 'application/problem+json']);
  });

  test('where a form asked a question, the way back to it leads to the page of the form', async () => {
    const { app, send, login, csrf } = await startPages();
    const question = { referer: `${app.adminUrl}/attention/change` };
    const ended = await send('/attention/change', { form: {}, headers: question });
    expect(ended.headers.get('location')).toBe('/login?next=%2Fattention%2Fchange&undone=1');
    await login();
    const old = { csrf: await csrf() };
    await login();
    const refused = await send('/attention/change', { form: old, headers: question });
    expect(await refused.text()).toContain('href="/attention/change"');
    for (const [form, page] of [
      ['/attention/change', '/attention'],
      ['/sinks/slack/pause', '/sinks/slack'],
    ]) {
      const back = await send(form!);
      expect([back.status, back.headers.get('location')]).toEqual([303, page]);
    }
    expect((await send('/attention')).status).toBe(200);
  });

  test('who comes from another site by a link keeps the session', async () => {
    const { send } = await startPages();
    const linked = await send('/events', { headers: { 'sec-fetch-site': 'cross-site' } });
    // The browser sends the cookie with what this answer makes it do.
    expect([linked.status, linked.headers.get('refresh')]).toEqual([200, '0']);
    expect(await linked.text()).toBe('');
  });
});

describe('without a password', () => {
  test('only the names of this machine are answered: any other may lead here from anywhere', async () => {
    const { app } = await startPages('sinks: {}\nrules: []\n', {}, false);
    const { port } = new URL(app.adminUrl);
    for (const host of [`localhost:${port}`, `127.0.0.1:${port}`, `[::1]:${port}`])
      expect(await statusFor(app.adminUrl, host)).toBe(200);
    for (const host of [
      'evil.example',
      `127.0.0.1.evil.example:${port}`,
      'localhost.evil.example',
      '10.0.0.1',
    ])
      expect(await statusFor(app.adminUrl, host)).toBe(421);
    // Apache and others name this machine as the host, too.
    for (const header of ['x-forwarded-for', 'forwarded', 'via'])
      expect((await fetch(app.adminUrl, { headers: { [header]: '198.51.100.7' } })).status).toBe(421);
  });

  test('everybody on this machine may look, and try a config, and nobody may change anything', async () => {
    const http = await endpoint();
    http.faults.decide = () => ({ kind: 'status', status: 410 });
    const told = `sinks: { ats: { connector: webhook, url: '${http.url}', allowPrivate: true } }
rules: [{ name: told, when: {}, then: [{ sink: ats }] }]
`;
    const { app, file, send, page } = await startPages(told, {}, false);
    await post(app, { candidateId: 'Dana' });
    await settled(file);
    const shown = await page('/attention');
    expect(shown).toContain('410');
    expect(shown).not.toContain('method="post"');
    expect(shown).toContain('without one, these pages only show');
    // Nobody may do it here, so there is nobody to ask.
    expect(shown).not.toContain('ask somebody');
    expect(wordsOf(shown)).toMatch(/commands\s+replay.* status\s+has\s+them\s+ready/s);
    const csrf = /name="csrf" value="([^"]+)"/.exec(await page('/rules'))?.[1] ?? '';
    for (const path of ['/rules/try', '/rules/check'])
      expect((await send(path, { form: { csrf, config: 'x' } })).status).toBe(200);
    const form = { csrf, action: 'discard', states: 'dead', sink: 'a', confirmed: 'yes' };
    expect((await send('/attention/change', { form })).status).toBe(403);
    const { paths } = (await (await send('/api/openapi.json')).json()) as { paths: Record<string, object> };
    const changing = Object.entries(paths).filter(([, methods]) => 'post' in methods);
    expect(changing.length).toBeGreaterThan(1);
    for (const [path] of changing) {
      const sent = { method: 'POST', headers: { 'x-csrf-token': csrf } };
      expect((await fetch(app.adminUrl + path.replaceAll(/\{.*?\}/g, 'x'), sent)).status).toBe(403);
    }
  });

  test('where something would be done, the page has the command for it, and no heading of nothing', async () => {
    const http = await endpoint();
    http.faults.decide = () => ({ kind: 'status', status: 410 });
    const { app, file, folder, page } = await startPages(
      `sinks: { ats: { connector: webhook, url: '${http.url}', allowPrivate: true } }
rules: [{ name: told, when: {}, then: [{ sink: ats }, { sink: ats, path: /x }] }]
`,
      {},
      false,
    );
    await post(app, { candidateId: 'Dana' });
    await settled(file);
    await run(['pause', 'ats', '--config', file]);
    using store = new DatabaseSync(`${folder}/connector.db`);
    store.exec('update person_pauses set since = since - 90000000');
    const shown = await page('/attention');
    expect(wordsOf(shown)).toMatch(/is still paused[^]*\bresume ats[^]*\bpause ats --for 2d/);
    expect(shown).toContain('action 2');
    expect(shown).not.toContain('All to ats');
  });

  test('there is nothing to log in to or out of', async () => {
    const { send, page } = await startPages('sinks: {}\nrules: []\n', {}, false);
    expect(await page('/')).not.toContain('Log out');
    expect((await send('/login', { form: {} })).headers.get('location')).toBe('/');
  });
});

test('every page says what it may load, and styles and scripts are kept for ever', async () => {
  const { app, send, page, login } = await startPages();
  await login();
  const { headers } = await send('/');
  expect(headers.get('content-security-policy')).toMatch(
    /^default-src 'none'; script-src 'self'; style-src 'self';/,
  );
  expect(headers.get('x-content-type-options')).toBe('nosniff');
  expect(headers.get('cache-control')).toBe('no-store');
  const [, style = ''] = /<link rel="stylesheet" href="([^"]+)"/.exec(await page('/')) ?? [];
  const sent = await send(style);
  expect(sent.headers.get('content-type')).toMatch(/^text\/css/);
  expect(sent.headers.get('cache-control')).toContain('immutable');
  const { host } = new URL(app.adminUrl);
  const kept = { 'if-none-match': sent.headers.get('etag') ?? '' };
  expect(await statusFor(app.adminUrl + style, host, kept)).toBe(304);
  expect((await send('/assets/%2e%2e%2fpage.ts')).status).not.toBe(200);
});

test('what is not there is a page for people, and a problem for programs', async () => {
  const { send, login } = await startPages();
  await login();
  for (const path of ['/nowhere', '/events/evt_unknown']) {
    const missing = await send(path);
    expect(missing.status).toBe(404);
    expect(await missing.text()).toContain('There is nothing here');
  }
  for (const path of ['/sinks/%E0%A4%A', '/events/%', '/assets/%E0%A4%A']) {
    const malformed = await send(path);
    expect({ path, status: malformed.status, says: await malformed.text() }).toMatchObject({
      status: 404,
      says: expect.stringContaining('There is nothing here'),
    });
  }
  // A day that is none is looked for nowhere; a file of too many events would be taken for an answer.
  const odd = '?from=2026-02-31&to=2026-04-31&state=__proto__';
  expect((await send(`/events${odd}`)).status).toBe(200);
  expect((await send(`/events.csv${odd}`)).status).toBe(400);
  const program = await send('/api/nowhere', { headers: { accept: '*/*' } });
  expect(program.status).toBe(404);
  expect(program.headers.get('content-type')).toContain('application/problem+json');
  expect((await send('/login', { form: { password: 'x'.repeat(20_000) } })).status).toBe(413);
});
