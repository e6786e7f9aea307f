import { expect, onTestFinished, test } from 'vitest';
import { startSlack } from '../../sandbox/slack.ts';
import { basic, password } from '../pages/tools.ts';
import { base, endpoint, jsonLines, run, serving, workplace } from './tools.ts';
import { eventually } from '../fixtures/eventually.ts';

const allowed = '198.51.100.1';
/** An address of the service that is not in its published list. */
const unheardOf = '203.0.113.9';
const hostile = `<img src=x onerror=alert(1)> "'& =1+1 \u202E`;

const isoTime = expect.stringMatching(/^20\d\d-.*Z$/);

/** A connector behind a proxy that tells a Slack channel of events, and an endpoint of refused ones. */
async function refusing() {
  const { folder, write } = await workplace();
  const [slack, ops] = [await startSlack(), await endpoint()];
  onTestFinished(() => slack.close());
  const text = `${base(folder)
    .replace('allowFrom: any', `allowFrom: [${allowed}], trustProxy: 1, token: s3cret`)
    .replace('{ port: 0 }', `{ port: 0, password: ${password}, viewer: only to look at }`)}
sinks:
  slack: { connector: slack, token: xoxb-sandbox-token, apiUrl: '${slack.url}' }
  ops: { connector: webhook, url: '${ops.url}', allowPrivate: true }
rules: [ { name: told, when: {}, then: [ { sink: slack, channel: '#hiring', text: '{{ event.candidateId }}' } ] } ]
alerts: { refused: { then: [ { sink: ops } ] } }
`;
  const file = await write('config.yaml', text);
  const app = await serving(file);
  const command = (...argv: string[]) => run([...argv, '--config', file]);
  let posted = 0;
  const post = async (
    from: string,
    event: object,
    correlationId = `c-${(posted += 1)}`,
    { token = 's3cret', path = new URL(app.receiverUrl).pathname, to = app.receiverUrl } = {},
  ) => {
    const response = await fetch(new URL(`${path}?token=${token}`, to), {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-forwarded-for': from,
        'x-service-correlationid': correlationId,
        connection: 'close',
      },
      body: JSON.stringify({ testId: 7, status: 'Completed', ...event }),
    });
    return {
      status: response.status,
      ...((await response.json()) as { eventId: string; duplicate: boolean }),
    };
  };
  const api = async (path: string, body?: object, login = basic()) => {
    const response = await fetch(`${app.adminUrl}/api${path}`, {
      headers: { ...login, 'content-type': 'application/json' },
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
    });
    return { status: response.status, ...((await response.json()) as any) };
  };
  const items = async () =>
    jsonLines<{ id: string; attempts: number }>(await command('events', '--refused', '--json'));
  const told = () => slack.messages.map(({ text: said }) => said);
  return { app, file, ops, command, post, api, items, told };
}

test('what came from the address of a proxy leads to trustProxy, and is not offered as a whole', async () => {
  const { command, post, ops, app } = await refusing();
  const proxy = '10.0.3.7';
  await post(proxy, { candidateId: 'dana' });
  await post(proxy, { candidateId: 'robin' });
  await eventually(() => expect(ops.calls).toHaveLength(1));
  const { advice } = JSON.parse(ops.calls[0]!.body).data;
  const { out } = await command('status');
  for (const said of [advice, out]) {
    expect(said).toContain(
      `A proxy of yours seems to be at ${proxy}, and anybody may be behind it: first set`,
    );
    expect(said).toContain('receiver.trustProxy');
    expect(said).toContain('candidate-connector accept ID.');
    expect(said).not.toContain('accept --from');
    expect(said).not.toContain('allowFrom (');
  }
  const caution = `${proxy} looks like a proxy of yours, and anybody may be behind it: take in only what`;
  expect((await command('accept', '--from', proxy, '--dry-run')).out).toContain(caution);
  const page = await (await fetch(`${app.adminUrl}/attention`, { headers: basic() })).text();
  expect(page).toContain(`as if it came now? ${caution}`);
});

test.each([
  ['another path', () => ({ path: '/elsewhere' })],
  ['the admin port', ({ adminUrl }: { adminUrl: string }) => ({ to: adminUrl })],
])('an event that was sent to %s is told of, kept, and taken in by hand', async (_, where) => {
  const { app, command, post, ops, api, told } = await refusing();
  expect(await post(allowed, { candidateId: 'dana' }, 'c-1', where(app))).toMatchObject({ status: 404 });
  await eventually(() => expect(ops.calls).toHaveLength(1));
  expect(JSON.parse(ops.calls[0]!.body).data).toMatchObject({
    detail: expect.stringContaining('the URL had another path than receiver.path, or led to admin.port'),
    advice: expect.stringContaining('Compare receiver.path with the path of the Webhook URL'),
  });
  expect(await command('status')).toMatchObject({
    code: 4,
    out: expect.stringContaining(`1 event from ${allowed} was refused: the URL had another path`),
  });
  expect(await api('/refused')).toMatchObject({
    totals: [{ reason: 'path', from: allowed, count: 1 }],
    items: [{ reason: 'path', from: allowed, candidateId: 'dana' }],
  });
  expect((await command('accept', '--from', allowed, '--yes')).code).toBe(0);
  await eventually(() => expect(told()).toEqual(['dana']));
  expect((await command('status')).code).toBe(0);
});

test('at the admin port, what is no event of somebody who may send one is a request as others are', async () => {
  const { app, post, api } = await refusing();
  const to = app.adminUrl;
  const dana = { candidateId: 'dana' };
  expect((await post(unheardOf, dana, 'c-1', { to })).status).toBe(401);
  expect((await post(allowed, dana, 'c-2', { to, token: 'guessed' })).status).toBe(401);
  expect((await post(allowed, dana, 'c-3', { to, path: '/elsewhere' })).status).toBe(401);
  expect((await post(allowed, dana, '', { to })).status).toBe(401);
  expect((await post(allowed, dana, 'c-4', { to })).status).toBe(404);
  await eventually(async () =>
    expect((await api('/refused')).items).toMatchObject([{ candidateId: 'dana' }]),
  );
});

test('who looks for a candidate hears of what came and was not taken in', async () => {
  const { command, post, api } = await refusing();
  const dana = { candidateId: 'dana-from-zagreb', candidateNumericalId: 20970 };
  expect((await post(unheardOf, dana)).status).toBe(403);
  expect((await post(unheardOf, { ...dana, testId: 8 })).status).toBe(403);
  expect((await post(allowed, { ...dana, status: 'Finished' })).status).toBe(422);
  expect((await api('/refused')).items).toHaveLength(2);
  const refused =
    '2 events of this candidate were refused, and nobody was told: `candidate-connector events --refused` lists what is kept.\n';
  const rejected =
    '1 request about this candidate was not a valid event, so no message went out: `candidate-connector events --rejected` says what was wrong.\n';
  for (const asked of ['20970', 'dana-from-zagreb', 'dana-f'])
    await eventually(async () => {
      const { out } = await command('events', '--candidate', asked);
      expect(out).toMatch(/^No events of candidate /);
      expect(out).toContain(refused + rejected);
    });
  expect((await post(allowed, { ...dana, status: 'Canceled' })).status).toBe(202);
  const { out } = await command('events', '--candidate', '20970');
  expect(out).toMatch(/Canceled  test 7  candidate 20970/);
  expect(out).toContain(refused + rejected);
  const others = await command('events', '--candidate', '20971');
  expect(others.out).toMatch(/^No events of candidate 20971: .* `candidate-connector reconcile` finds .*\n$/);
  expect((await command('events', '--candidate', '20970', '--json')).out.trim().split('\n')).toHaveLength(1);
});

test('what a new address of the service sends is refused, told of, taken in by hand, and then told once', async () => {
  const { command, post, items, told, ops, api } = await refusing();
  const event = { candidateId: 'dana', candidateNumericalId: 20970, more: { kept: [1] } };
  for (let n = 0; n < 2; n += 1) expect((await post(unheardOf, event, 'c-dana')).status).toBe(403);
  const [one] = (await api('/refused')).items;
  expect(one).toEqual({
    id: expect.stringMatching(/^rej_[0-9a-z]{26}$/),
    at: isoTime,
    from: unheardOf,
    reason: 'address',
    candidateId: 'dana',
    testId: 7,
    status: 'Completed',
    correlationId: 'c-dana',
    attempts: 2,
  });
  expect(await items()).toEqual([one]);
  expect((await command('status')).out).toContain(`2 events from ${unheardOf} were refused`);
  await eventually(() => expect(ops.calls).toHaveLength(1));
  expect(JSON.parse(ops.calls[0]!.body).data).toMatchObject({
    alert: 'refused',
    from: unheardOf,
    count: 2,
    detail: expect.stringMatching(/The first came .* ago, the last .* ago\.$/),
    advice: expect.stringContaining(`candidate-connector accept --from ${unheardOf};`),
  });
  const lastNotice = /Last notices\n.*2 events from .*, the last .* ago\.\n$/;
  await eventually(async () => expect((await command('status')).out).toMatch(lastNotice));

  expect((await command('accept', '--from', unheardOf, '--dry-run')).out).toMatch(
    /rej_.*Completed  test 7  candidate 20970  dana  from 203\.0\.113\.9, refused for the address 2×\nRules ask for 1 to slack\.\nNothing was taken in/,
  );
  expect((await command('accept', '--from', unheardOf)).code).toBe(2);
  expect(told()).toEqual([]);
  const taking = await command('accept', one.id, '--yes', '--note', 'their list is longer now');
  expect(taking).toMatchObject({ code: 0, out: expect.stringContaining('Taken in: 1 event.\n') });
  await eventually(() => expect(told()).toEqual(['dana']));

  expect(await command('accept', one.id, '--yes')).toMatchObject({
    code: 1,
    err: expect.stringContaining('is not kept, or not any more'),
  });
  // The real event comes later, from an address that is allowed.
  const later = await post(allowed, event);
  expect(later).toMatchObject({ status: 200, duplicate: true });
  expect(await api(`/events/${later.eventId}`)).toMatchObject({
    raw: { ...event, testId: 7 },
    correlationId: 'c-dana',
    changes: [{ action: 'accept', note: 'their list is longer now' }],
  });
  expect(await api('/refused')).toMatchObject({ totals: [], items: [] });
  expect((await command('status')).code).toBe(0);
  expect(told()).toEqual(['dana']);
});

test('what came meanwhile by an allowed address, however long ago, is not told again', async () => {
  const { command, post, api } = await refusing();
  await post(unheardOf, { candidateId: 'dana' });
  const [{ id }] = (await api('/refused')).items;
  await post(allowed, { candidateId: 'dana' });
  expect((await command('accept', id, '--yes')).out).toContain(
    'Taken in: 0 events. 1 event had come already.',
  );
  expect(await api('/refused')).toMatchObject({ totals: [], items: [] });
  expect((await command('events', '--audit')).out).toMatch(/^\S+ \S+ UTC {2}accept, by /);
});

test('of what has come already, and of what came from two addresses, it is said before that it tells nobody', async () => {
  const { command, post, items, told } = await refusing();
  for (const candidateId of ['dana', 'kim']) await post(unheardOf, { candidateId });
  await post('203.0.113.77', { candidateId: 'kim' });
  await post(allowed, { candidateId: 'dana' });
  await eventually(async () => expect(await items()).toHaveLength(3));
  const ids = (await items()).map(({ id }) => id);
  const foretold = 'Rules ask for 1 to slack.\n2 events have come already, so they tell nobody.\n';
  expect((await command('accept', ...ids, '--dry-run')).out).toContain(foretold);
  const { out } = await command('accept', ...ids, '--yes');
  expect(out).toContain(foretold);
  expect(out).toContain('Taken in: 1 event. 2 events had come already.');
  await eventually(() => expect(told()).toEqual(['dana', 'kim']));
});

test('who takes in an event that is older than what came of the candidate is told before', async () => {
  const { app, post, command } = await refusing();
  const page = async () => (await fetch(`${app.adminUrl}/attention`, { headers: basic() })).text();
  for (const status of ['DidNotTake', 'Completed']) await post(unheardOf, { candidateId: 'dana', status });
  const dry = async () => (await command('accept', '--from', unheardOf, '--dry-run')).out;
  expect(await page()).not.toContain('Older than what came');
  expect(await dry()).not.toContain('older');
  await post(allowed, { candidateId: 'dana' });
  // Another test of the same candidate.
  await post(allowed, { candidateId: 'dana', testId: 8, status: 'Canceled' });
  expect((await page()).split('Older than what came')).toHaveLength(2);
  expect(await dry()).toContain('1 event is older than what came of the same candidate and test: ');
});

test('the API takes in and puts away, and a viewer may do neither', async () => {
  const { post, api, told, command } = await refusing();
  expect((await post(allowed, { candidateId: 'dana' }, 'c-1', { token: 'old' })).status).toBe(401);
  expect((await post(unheardOf, { candidateId: 'robin' })).status).toBe(403);
  const { items } = await api('/refused');
  expect(items).toMatchObject([
    { candidateId: 'robin' },
    { candidateId: 'dana', reason: 'token', from: allowed },
  ]);
  const [robin, dana] = items.map(({ id }: { id: string }) => `/refused/${id}`);
  const viewer = basic('kim', 'only to look at');
  for (const action of ['accept', 'ignore'])
    expect((await api(`${dana}/${action}`, {}, viewer)).status).toBe(403);
  expect((await api('/refused', undefined, viewer)).items).toHaveLength(2);
  expect((await command('events', '--audit')).out).toContain('Nobody');

  expect(await api(`${dana}/accept`, { note: 'the old token' })).toMatchObject({
    status: 200,
    duplicate: false,
  });
  expect((await api(`${dana}/accept`, {})).status).toBe(404);
  expect((await api(`${robin}/ignore`, { note: 'a test of ours' })).status).toBe(200);
  expect((await api(`${robin}/ignore`, {})).status).toBe(404);
  await eventually(() => expect(told()).toEqual(['dana']));
  expect(await api('/refused')).toMatchObject({ totals: [], items: [] });
  expect((await command('events', '--audit')).out).toMatch(
    /ignore, by ops from the API.*a test of ours\n.*accept/,
  );
});

test('hostile text stays text in a terminal, and ignore and forget erase what is kept', async () => {
  const { post, api, command, file, items } = await refusing();
  for (const candidateId of [hostile, 'candidate-2-to-forget', 'robin'])
    await post(unheardOf, { candidateId });
  await post('x'.repeat(100), { candidateId: 'kim' });
  const { items: all } = await api('/refused');
  expect(all).toHaveLength(4);
  const listed = (await command('events', '--refused')).out;
  expect(listed).toContain('=1+1 \\u{202e}  from 203.0.113.9');
  expect(await command('forget', 'candidate-2-to-forget', '--yes')).toMatchObject({
    out: expect.stringContaining('Erased: 0 events, and 1 refused request.'),
  });
  const robin = all.find((one: any) => one.candidateId === 'robin').id;
  expect((await command('ignore', robin)).out).toContain('candidate robin');
  expect((await command('ignore', robin)).code).toBe(1);
  expect(await items()).toHaveLength(2);
  // On a terminal, it asks before it throws away what could still be taken in.
  const asked: string[] = [];
  const asks = (answer: string) => (question: string) => {
    asked.push(question);
    return Promise.resolve(answer);
  };
  const putAway = ['ignore', '--from', unheardOf, '--config', file];
  expect((await run(putAway, {}, false, asks(''))).out).toBe('Nothing was put away.\n');
  expect(await items()).toHaveLength(2);
  expect(asked).toEqual([
    '1 event is kept of it, and could not be taken in any more. Put all of it away? [y/N] ',
  ]);
  expect((await command('ignore', '--from', unheardOf)).out).toContain(
    '1 event that was kept of it cannot be taken in any more.',
  );
  expect(await items()).toHaveLength(1);
  expect((await run([...putAway, '--yes'], {}, false, asks('no'))).code).toBe(0);
  expect((await run(putAway, {}, false, asks('no'))).out).toContain('Nothing of this was refused');
  expect(asked).toHaveLength(1);
  expect((await command('accept')).code).toBe(2);
});

test('accept says what was put away while it asked', async () => {
  const { file, command, post, items } = await refusing();
  await post(unheardOf, { candidateId: 'dana' });
  await post(unheardOf, { candidateId: 'robin' });
  await eventually(async () => expect(await items()).toHaveLength(2));
  const meanwhile = async () => {
    expect((await command('ignore', (await items())[0]!.id)).code).toBe(0);
    return 'yes';
  };
  const taking = await run(['accept', '--from', unheardOf, '--config', file], {}, false, meanwhile);
  expect(taking).toMatchObject({
    code: 0,
    out: expect.stringContaining(
      'Taken in: 1 event. Not kept any more, as when somebody else takes in or puts away: 1.\n',
    ),
  });
});

test('the page lists what is kept by sender, asks first, takes in and puts away; hostile text stays text there', async () => {
  const { app, post, api, told } = await refusing();
  const later = '2001:db8:1:2::7';
  for (const candidateId of [hostile, 'robin']) await post(unheardOf, { candidateId });
  await post('<script>alert(1)</script>', { candidateId: 'kim', candidateNumericalId: 20970 });
  const page = async () => (await fetch(`${app.adminUrl}/attention`, { headers: basic() })).text();
  const text = await page();
  // The text says what happened, to whom and what to do; the cause comes first, and events are not lost before somebody looks.
  expect(text).toMatch(
    /3 events were refused for the address.*Whom they are about.*What to do.*receiver\.allowFrom \(.*Accept 2 events from 203\.0\.113\.9.*Seen: put away 3 events/s,
  );
  expect(text).toMatch(/<b>20970<\/b>\s+Completed,\s+Test 7,.*candidate\s+kim/s);
  expect(text).not.toContain('<details>');
  expect(text).toContain('&lt;img src=x onerror=alert(1)&gt; &quot;&#39;&amp; =1+1 \\u{202e}');
  expect(text).not.toMatch(/<img src=x|<script>alert/);

  const submit = (form: Record<string, string> | URLSearchParams, login = basic()) =>
    fetch(`${app.adminUrl}/attention/refused`, {
      method: 'POST',
      redirect: 'manual',
      headers: login,
      body: form instanceof URLSearchParams ? form : new URLSearchParams({ until: `${Date.now()}`, ...form }),
    });
  const all = { action: 'accept', from: unheardOf, confirmed: 'yes', note: 'theirs' };
  expect((await submit(all, basic('kim', 'only to look at'))).status).toBe(403);
  const asked = await submit({ ...all, confirmed: '' });
  expect(await asked.text()).toMatch(
    /Take in what is kept from 203\.0\.113\.9, as if it came now\?.*name="from" value="203\.0\.113\.9"/s,
  );
  expect((await submit({ ...all, until: 'x' })).status).toBe(400);
  expect((await api('/refused')).items).toHaveLength(3);
  for (let n = 0; n < 8; n += 1) await post('198.51.100.77', { candidateId: `other ${n}` });
  expect(await page()).toMatch(/robin.*<summary>1 more<\/summary>.*img src.*<\/details>/s);
  await submit({ action: 'ignore', from: '198.51.100.77', confirmed: 'yes' });
  // Events that came after the page was shown are not included.
  await post(later, { candidateId: 'nika' });
  expect((await api('/refused')).items).toHaveLength(4);
  await submit({ ...all, from: '2001:db8:1:2::/64', until: '1' });
  expect((await submit(all)).status).toBe(303);
  await eventually(() => expect(told()).toHaveLength(2));
  const { items } = await api('/refused');
  expect(items.map(({ from }: any) => from)).toEqual(['2001:db8:1:2::/64', '<script>alert(1)</script>']);
  const ticked = new URLSearchParams({ action: 'ignore', confirmed: 'yes' });
  for (const { id } of items) ticked.append('id', id);
  await submit(ticked);
  expect(await page()).toContain('Nothing needs you');
});
