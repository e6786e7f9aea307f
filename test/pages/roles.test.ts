import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { expect, test } from 'vitest';
import { endpoint, post, run, settled } from '../commands/tools.ts';
import { basic, password, startPages } from './tools.ts';

const viewer = 'who only looks';

/** A connector with a delivery that is dead, and what may be done to it. */
async function startRoles(admin: string) {
  const http = await endpoint();
  http.faults.decide = () => ({ kind: 'status', status: 410 });
  const pages = await startPages(
    `sinks: { ats: { connector: webhook, url: '${http.url}', allowPrivate: true } }
rules: [{ name: told, when: {}, then: [{ sink: ats }] }]
`,
    {},
    true,
    admin,
  );
  const { eventId } = await post(pages.app, { candidateId: 'Dana' });
  await settled(pages.file);
  const discard = (headers: Readonly<Record<string, string>>) =>
    fetch(`${pages.app.adminUrl}/api/deliveries/discard`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ event: eventId }),
    });
  const audit = async () => (await run(['events', '--audit', '--json', '--config', pages.file])).out;
  return { ...pages, discard, audit };
}

test('a viewer reads everything, and whatever it sends is 403 and in no audit', async () => {
  const { app, send, page, login, csrf, discard, audit } = await startRoles(`viewer: ${viewer}`);
  const { paths } = (await (await send('/api/openapi.json', { headers: basic('v', viewer) })).json()) as {
    paths: Record<string, object>;
  };
  const changing = Object.keys(paths).filter((path) => 'post' in paths[path]!);
  expect(changing.length).toBeGreaterThan(4);
  expect((await login(viewer)).status).toBe(303);
  const token = await csrf();
  for (const path of ['/', '/events', '/events.csv', '/attention', '/rules', '/metrics', '/api/status'])
    expect((await send(path)).status).toBe(200);
  const shown = await page('/attention');
  expect(shown).toContain('410');
  expect(shown).toContain('You are a viewer here: you can look, and change nothing.');
  expect(shown).toContain('ask somebody who may replay or discard');
  for (const one of ['/attention', '/rules'])
    expect(await page(one)).not.toMatch(/method="post" action="(?!\/logout)/);
  const forms = [
    '/attention/change',
    '/attention/retry',
    '/attention/seen',
    '/sinks/ats/pause',
    '/rules/try',
    '/rules/check',
    '/nowhere',
  ];
  for (const path of [...changing.map((one) => one.replaceAll(/\{.*?\}/g, 'x')), ...forms]) {
    expect((await send(path, { form: { csrf: token } })).status).toBe(403);
    const sent = await fetch(app.adminUrl + path, { method: 'POST', headers: basic('v', viewer) });
    expect(sent.status).toBe(403);
  }
  expect((await discard(basic('v', viewer))).status).toBe(403);
  expect(await audit()).toBe('');
  expect((await discard(basic('dana'))).status).toBe(200);
  expect(await audit()).toContain('"who":"dana"');
  expect((await send('/logout', { form: { csrf: token } })).headers.get('location')).toBe('/login');
  expect((await send('/events')).status).toBe(303);
});

test('the password for metrics leads to nothing else', async () => {
  const { send, login } = await startPages(undefined, {}, true, 'metrics: only for numbers');
  const status = async (path: string) =>
    (await send(path, { headers: basic('prometheus', 'only for numbers') })).status;
  expect(await status('/metrics')).toBe(200);
  for (const path of ['/', '/events', '/api/status', '/nowhere']) expect(await status(path)).toBe(403);
  expect((await login('only for numbers')).status).toBe(401);
});

test('a proxy names who it is, for the audit too; a browser behind it needs the token of its page', async () => {
  const { app, send, discard, audit } = await startRoles(
    'proxy: { from: 127.0.0.0/8, header: X-Who }, title: Hiring <EU>',
  );
  const jörg = { 'x-who': Buffer.from('jörg@example.org').toString('latin1') };
  const headers = { ...jörg, origin: app.adminUrl };
  const home = await (await send('/', { headers })).text();
  expect(home).toMatch(/<title>.* · Hiring &lt;EU&gt;<\/title>/);
  expect((await discard(headers)).status).toBe(403);
  const csrf = /name="csrf" value="([^"]+)"/.exec(await (await send('/attention', { headers })).text())?.[1];
  const other = { ...headers, 'x-who': 'eve' };
  expect((await discard({ ...other, 'x-csrf-token': csrf ?? '' })).status).toBe(403);
  expect((await discard({ ...headers, 'x-csrf-token': csrf ?? '' })).status).toBe(200);
  expect(await audit()).toContain('"who":"jörg@example.org"');
  // Without the header, and with two of it, a proxy has named nobody.
  for (const named of [{}, { 'x-who': ['ana', 'eve'] }]) {
    const [answer] = (await once(get(app.adminUrl, { headers: named }), 'response')) as [IncomingMessage];
    expect(answer.resume().statusCode).toBe(401);
  }
});

test('a program behind the proxy needs no token, and one that lets viewers in lets nobody change anything', async () => {
  const full = await startRoles('proxy: { from: [127.0.0.1] }');
  expect((await full.discard({ 'x-forwarded-user': 'ana' })).status).toBe(200);
  const looking = await startRoles('proxy: { from: [127.0.0.1], role: viewer }');
  expect((await looking.discard({ 'x-forwarded-user': 'ana' })).status).toBe(403);
  expect((await looking.discard(basic('dana'))).status).toBe(200);
  expect(await looking.audit()).not.toContain('"who":"ana"');
});

test('from elsewhere, the header of the proxy means nothing', async () => {
  const { send, discard } = await startRoles('proxy: { from: [10.0.3.7] }');
  const headers = { 'x-forwarded-user': 'ana', 'x-forwarded-for': '10.0.3.7' };
  expect((await send('/', { headers })).status).toBe(303);
  expect((await discard(headers)).status).toBe(401);
  expect((await discard({ ...headers, ...basic('dana', password) })).status).toBe(200);
});

test('who only looks at refused events is told how they are taken in', async () => {
  const { app, page, login } = await startPages(undefined, {}, true, `viewer: ${viewer}`);
  const body = JSON.stringify({ candidateId: 'Dana', testId: 1, status: 'Completed' });
  const headers = { 'content-type': 'application/json' };
  await fetch(`${app.receiverUrl}/other`, { method: 'POST', headers, body });
  const way = 'You can only look here: the commands <code>accept</code> and <code>ignore</code>';
  await login(viewer);
  expect(await page('/attention')).toContain(way);
  await login(password);
  const shown = await page('/attention');
  expect(shown).toContain('Accept 1 event');
  expect(shown).not.toContain(way);
});
