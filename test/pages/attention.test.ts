import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { SmtpSandbox } from '../../sandbox/smtp.ts';
import { systemClock } from '../../src/support/clock.ts';
import { endpoint, jsonLines, logging, loud, post, run, settled, workplace } from '../commands/tools.ts';
import { barriersOf, openLoggedIn } from './browser.ts';
import { basic, password, startPages } from './tools.ts';
import { eventually } from '../fixtures/eventually.ts';

const hostile = '<img src=x onerror=alert(1)> "\'& =1+1 \u202E';

const rules = (url: string, more = '') => `
timezone: Europe/Zagreb
sinks: { ats: { connector: webhook, url: '${url}', allowPrivate: true ${more} } }
rules: [ { name: told, when: {}, then: [ { sink: ats } ] } ]
`;

/** Events whose deliveries are dead, and the same connector once the tool works. */
async function withDead(candidates: readonly string[], more = '') {
  const ats = await endpoint();
  ats.faults.decide = () => ({ kind: 'status', status: 410 });
  const pages = await startPages(rules(ats.url, more));
  const events: string[] = [];
  for (const candidateId of candidates) events.push((await post(pages.app, { candidateId })).eventId);
  await settled(pages.file);
  ats.faults.clear();
  await pages.login();
  const token = await pages.csrf();
  /** As a browser without scripts sends it. */
  const submit = (form: Record<string, string> | [string, string][], confirmed = true) => {
    const fields = Array.isArray(form) ? form : Object.entries(form);
    const all: [string, string][] = [...fields, ['csrf', token]];
    if (confirmed) all.push(['confirmed', 'yes']);
    return pages.send('/attention/change', { form: all });
  };
  const audit = async () => jsonLines(await run(['events', '--audit', '--json', '--config', pages.file]));
  return { ...pages, ats, events, submit, audit, delivery: (n: number) => `dlv_${events[n]!.slice(4)}_1` };
}

const group = { states: 'dead', sink: 'ats', count: '2', until: `${Number.MAX_SAFE_INTEGER}` };

describe('what needs a person', () => {
  test('stands by sink and cause, and hostile text stays text', async () => {
    const { page, events } = await withDead([hostile, 'Robin']);
    const text = await page('/attention');
    expect(text).toContain('2 given up');
    expect(text).toContain('When that is put right');
    expect(text).toContain(`href="/events/${events[0]}"`);
    expect(text).toMatch(/>&lt;img src…<\/a>\s+Completed,\s+Test 1234567,/);
    expect(text).not.toContain('<img src=x');
  });

  test('lists the reason of each where the newest is not that of all', async () => {
    const { app, file, ats, page } = await withDead(['Robin']);
    ats.faults.decide = () => ({ kind: 'status', status: 410, body: 'no such job' });
    await post(app, { candidateId: 'Dana' });
    await settled(file);
    const text = await page('/attention');
    expect(text).toMatch(
      /answered 410: no such job\. .*That is the newest of 2 reasons: look at the others, too\./,
    );
    expect(text).toMatch(/<span class="muted small"\s*>The other system answered 410: status 410/);
  });

  test('is done to those that were ticked, after a question; to none where none was', async () => {
    const { page, submit, ats, delivery, audit } = await withDead(['Dana', 'Robin', 'Kim']);
    const [dana, kim] = [delivery(0), delivery(2)];
    const form = { action: 'replay', sink: 'ats', states: '', count: '0' };
    const ticked: [string, string][] = [['id', dana], ['id', kim], ...Object.entries(form)];
    const question = await (await submit(ticked, false)).text();
    expect(question).toContain('Send these 2 messages to ats again');
    for (const id of [dana, kim])
      expect(question).toContain(`<input type="hidden" name="id" value="${id}" />`);
    expect((await submit(form)).status).toBe(400);
    const place = (await submit(ticked)).headers.get('location') ?? '';
    await eventually(async () => expect(await page(place)).toContain('2 delivered'));
    expect(ats.calls.map(({ deliveryId }) => deliveryId).toSorted()).toEqual([dana, kim]);
    expect(await audit()).toMatchObject([{ action: 'replay', deliveries: [dana, kim] }]);
  });

  test('is asked about before it goes, then goes, and what became of it is shown', async () => {
    const { page, submit, ats, delivery, audit } = await withDead(['Dana', 'Robin']);
    const willAsk =
      'Send these 2 messages to ats again, by the config in force? None has arrived, so nobody gets one twice.';
    expect(await page('/attention')).toContain(`data-confirm="${willAsk}"`);
    const asked = await submit({ ...group, doubt: 'none', action: 'replay', note: hostile }, false);
    expect(asked.status).toBe(200);
    const question = await asked.text();
    expect(question).toContain(willAsk);
    expect(question).toContain('name="confirmed" value="yes"');
    expect(question).not.toContain('<img src=x');
    expect(ats.calls).toHaveLength(0);

    const sent = await submit({ ...group, action: 'replay', note: hostile });
    const place = sent.headers.get('location') ?? '';
    expect([sent.status, place]).toEqual([303, expect.stringMatching(/^\/attention\/changes\//)]);
    await eventually(async () => expect(await page(place)).toContain('2 delivered'));
    expect(await page(place)).toContain('2 messages replayed');
    expect(await page(place)).not.toContain('data-refresh');
    expect(ats.calls).toHaveLength(2);
    expect(await audit()).toMatchObject([
      {
        who: 'somebody on the operations page',
        from: 'the page, 127.0.0.1',
        action: 'replay',
        note: hostile,
        deliveries: [delivery(0), delivery(1)],
      },
    ]);
    const after = await page('/attention');
    expect(after).toContain('Nothing needs you');
    expect(after).toMatch(/<b>replay<\/b>\s+of 2 messages\s+by\s+somebody on the operations page\s+</);
    expect(after).not.toContain('<img src=x');
  });

  test.each(['its cause', 'all of its sink'])(
    'is done from a tab of this morning to what stood there, by %s: what came since was not asked about',
    async (which) => {
      const { app, file, page, submit, ats, audit, delivery } = await withDead(['Dana']);
      const [, until = ''] = /name="until" value="(\d+)"/.exec(await page('/attention')) ?? [];
      const [, cause = ''] = /name="cause" value="([^"]+)"/.exec(await page('/attention')) ?? [];
      ats.faults.decide = () => ({ kind: 'status', status: 410 });
      await eventually(() => expect(Date.now()).toBeGreaterThan(Number(until)));
      await post(app, { candidateId: 'Robin' });
      await settled(file);
      const old = { ...group, count: '1', until, ...(which === 'its cause' && { cause }), action: 'discard' };
      expect(await (await submit(old, false)).text()).toContain(`name="until" value="${until}"`);
      const place = (await submit(old)).headers.get('location') ?? '';
      expect(await page(place)).toContain('1 message discarded');
      expect(await audit()).toMatchObject([{ action: 'discard', deliveries: [delivery(0)] }]);
      expect(await page('/attention')).toMatch(/1 given up[^]*Robin/);
    },
  );

  test('is not discarded from an old tab once somebody has replayed it, and that is said', async () => {
    const { page, file, submit, delivery, audit } = await withDead(['Dana']);
    await run(['pause', 'ats', '--config', file]);
    await run(['replay', delivery(0), '--config', file]);
    const sent = await submit({ action: 'discard', id: delivery(0), sink: 'ats' });
    expect(await page(sent.headers.get('location') ?? '')).toMatch(
      /0 messages discarded[^]*1 message stayed as it was[^]*: somebody has replayed it since/,
    );
    expect(await audit()).toMatchObject([{ action: 'replay' }, { action: 'pause' }]);
    const all = await submit({ ...group, count: '1', action: 'discard' });
    expect(await page(all.headers.get('location') ?? '')).toMatch(
      /0 messages discarded[^]*1 message of those on the page was left alone/,
    );
  });

  test('is also a notice that reached nobody, and Today says so', async () => {
    const begin = systemClock.after.bind(systemClock);
    // It looks every ten seconds for what to tell.
    vi.spyOn(systemClock, 'after').mockImplementation((ms, then) => begin(ms === 10_000 ? 100 : ms, then));
    const ats = await endpoint();
    ats.faults.decide = () => ({ kind: 'status', status: 410 });
    const { app, file, page, login, send, csrf } = await startPages(
      rules(ats.url).replace(
        'sinks: {',
        `sinks: { ops: { connector: webhook, url: '${ats.url}', allowPrivate: true },`,
      ) + 'alerts: { dead: { then: [ { sink: ops } ] } }\n',
    );
    await login();
    await post(app, { candidateId: 'Dana' });
    const told = async () =>
      expect(await page('/')).toMatch(/One message about the connector itself<\/b>\s+was/);
    await eventually(told);
    expect(await page('/')).toMatch(/<b>One message to ats<\/b\s*>/);
    expect(await page('/attention')).toMatch(/1 message about the connector itself was\s+not delivered/);
    expect(await page('/attention')).not.toContain('of what is over');
    await run(['discard', '--dead', '--sink', 'ats', '--config', file]);
    expect(await page('/attention')).toMatch(/What it tells of is over[^]*Discard 1 of what is over/);
    const all = { ...group, action: 'replay', sink: 'ops', count: '1', confirmed: 'yes' };
    const done = async (form: Record<string, string>) => {
      const sent = await send('/attention/change', { form: { ...all, ...form, csrf: await csrf() } });
      return page(sent.headers.get('location') ?? '');
    };
    expect(await done({})).toMatch(/1 message stayed as it was[^]*: it is a notice of what is over/);
    const [, id = ''] = /name="id" value="(dlv_\w+)"/.exec(await page('/attention')) ?? [];
    const ended = await done({ action: 'discard', id });
    expect(ended).toContain('1 message discarded');
    expect(ended).not.toContain('Its event');
  });

  test('a replay that fails again says why', async () => {
    const { submit, page, ats } = await withDead(['Dana']);
    ats.faults.decide = () => ({ kind: 'status', status: 410 });
    const sent = await submit({ ...group, count: '1', action: 'replay' });
    const place = sent.headers.get('location') ?? '';
    await eventually(async () => expect(await page(place)).toContain('1 given up'));
    expect(await page(place)).toContain('The other system answered 410');
  });

  test('of a bug that stops a change, the log says more than the page', async () => {
    const ats = await endpoint();
    ats.faults.decide = () => ({ kind: 'status', status: 410 });
    const { folder, write } = await workplace();
    const admins = loud(folder).replace('admin: { port: 0 }', `admin: { port: 0, password: "${password}" }`);
    const file = await write('config.yaml', admins + rules(ats.url));
    const { app, lines } = await logging(file);
    await post(app, { candidateId: 'Dana' });
    await settled(file);
    const db = new DatabaseSync(join(folder, 'connector.db'));
    db.exec('drop table audit_deliveries');
    db.close();
    const body = new URLSearchParams({ ...group, action: 'replay', confirmed: 'yes' });
    const answer = await fetch(`${app.adminUrl}/attention/change`, {
      method: 'POST',
      body,
      headers: { accept: 'text/html', ...basic('me') },
    });
    expect(await answer.text()).toContain('It stopped because of a bug in the connector. See the log.');
    const logged = () => lines().find(({ msg }) => msg === 'a change by hand failed');
    await eventually(() => expect(logged()).toBeDefined());
    expect(logged()).toMatchObject({
      level: 'error',
      action: 'replay',
      err: { message: expect.stringContaining('audit_deliveries') },
    });
  });

  test('may be one delivery, discarded; and who was too late reads why', async () => {
    const { page, submit, ats, delivery, audit, events } = await withDead(['Dana', 'Robin']);
    expect(await page(`/events/${events[0]}`)).toContain(`name="id" value="${delivery(0)}"`);
    const form = { action: 'discard', id: delivery(0), sink: 'ats', states: '', count: '1' };
    const [first, second] = await Promise.all([submit(form), submit(form)]);
    const texts = await Promise.all(
      [first, second].map(async (one) => page(one.headers.get('location') ?? '')),
    );
    expect(texts.filter((text) => text.includes('1 message discarded'))).toHaveLength(1);
    expect(texts.filter((text) => text.includes('it is discarded, and only'))).toHaveLength(1);
    expect(await audit()).toHaveLength(1);
    expect(await page('/attention')).toContain('1 given up');
    expect(ats.calls).toHaveLength(0);
  });

  test('goes out again for one cause alone; held ones and paused sinks stand beside it', async () => {
    const [ats, crm, down] = [await endpoint(), await endpoint(), await endpoint()];
    ats.faults.decide = () => ({ kind: 'status', status: 410 });
    crm.faults.decide = () => ({ kind: 'drop', commit: false });
    down.faults.decide = () => ({ kind: 'status', status: 401 });
    const sink = (url: string) =>
      `{ connector: webhook, url: '${url}', allowPrivate: true, onUnknown: hold, retry: { minDelay: 10m } }`;
    const pages = await startPages(`
sinks: { ats: ${sink(ats.url)}, crm: ${sink(crm.url)}, down: ${sink(down.url)} }
rules:
  - { name: few, when: { candidateId: a }, then: [ { sink: ats, path: /few } ] }
  - { name: told, when: {}, then: [ { sink: ats }, { sink: ats, path: /x }, { sink: crm }, { sink: down } ] }
`);
    const { app, file, login, page, csrf, send } = pages;
    for (const candidateId of ['a', 'b', 'c', 'd', 'e']) await post(app, { candidateId });
    await settled(file, /^(dead|held|pending)$/);
    await login();
    await eventually(async () => expect(await page('/attention')).toContain('down is paused'));
    const text = await page('/attention');
    // Nobody has paused it.
    const why = /as it fails \(since <time[^(]*: The other system answered 401/;
    expect(text).toMatch(new RegExp(`<b\\s*>down is paused</b\\s*>\\s*${why.source}`));
    expect(await page('/sinks/down')).toMatch(new RegExp(`Paused ${why.source}`));
    // The cause that most deliveries have comes first.
    expect(text).toMatch(/rule “told”,[^]*rule “few”,/);
    expect(text).toContain('5 held');
    expect(text).toContain(
      'Look there: replay what is missing, discard what came. Where the reason is a right',
    );
    expect(text).toContain(
      'Send these 5 messages to crm again, by the config in force? They may have arrived already: where the tool cannot tell, people get them twice.',
    );
    expect(text).toMatch(/<b>Replay<\/b> sends a message again[^]*<b>Discard<\/b> ends it for good/);
    expect(text).toContain('All to ats');
    // Each paused sink, and each cause: the same figure on each page.
    await eventually(async () => {
      const listed = (await page('/attention')).match(/\d+ (given up|held)<\/span>|is paused<\/b/g)!.length;
      for (const path of ['/', '/events', '/attention', '/sinks/ats'])
        expect(await page(path)).toMatch(
          RegExp(`<title>\\(${listed}\\) .*<span class="badge">${listed}</span>`, 's'),
        );
    });
    const narrowed = await page('/attention?sink=crm');
    expect(narrowed).toContain('5 held');
    expect(narrowed).not.toContain('All to ats');
    const [, cause = ''] = /name="cause" value="([^"]* told 1)"/.exec(text) ?? [];
    ats.faults.clear();
    const form = { ...group, confirmed: 'yes', csrf: await csrf() };
    await send('/attention/change', { form: { ...form, action: 'replay', cause } });
    await eventually(() => expect(ats.calls.map((call) => call.path)).toEqual(Array(5).fill('/hooks/x')));
    expect(await page('/attention')).toContain('rule “told”, since');
    const held = { ...form, action: 'discard', states: 'held', sink: 'crm' };
    await send('/attention/change', { form: held });
    expect(await page('/attention')).not.toContain('5 held');
    down.faults.clear();
    expect((await send('/attention/retry', { form: { sink: 'nobody', csrf: await csrf() } })).status).toBe(
      400,
    );
    await send('/attention/retry', { form: { sink: 'down', csrf: await csrf() } });
    await eventually(async () => expect(await page('/attention')).not.toContain('down is paused'));
    await settled(file, /^(delivered|dead|discarded)$/);
  });

  test('says of a refused message what to put right, and of a tool that was away to wait for it', async () => {
    const ats = await endpoint();
    ats.faults.decide = ({ name }) => ({ kind: 'status', status: name === 'PUT' ? 503 : 422 });
    const retry = 'timeout: 1s, retry: { minDelay: 10ms, maxDelay: 10ms, giveUpAfter: 1s }';
    const { app, file, login, page } = await startPages(`
sinks: { ats: { connector: webhook, url: '${ats.url}', allowPrivate: true, ${retry} } }
rules: [ { name: told, when: {}, then: [ { sink: ats }, { sink: ats, method: PUT } ] } ]
`);
    await post(app, { candidateId: 'Dana' });
    await settled(file);
    await login();
    const text = await page('/attention');
    expect(text).toMatch(/answered 422[^]*?Put right what it says, in the tool or in the config/);
    expect(text).toMatch(/answered 503[^]*?The tool did not work\. When it does again/);
  });

  test('may be hundreds, with many causes', async () => {
    const ats = await endpoint();
    ats.faults.decide = () => ({ kind: 'status', status: 410 });
    const actions = Array.from({ length: 30 }, (_, n) => `{ sink: ats, path: /${n} }`).join(', ');
    const { app, file, login, page, csrf, send } = await startPages(
      rules(ats.url).replace('[ { sink: ats } ]', `[ ${actions} ]`),
    );
    await Promise.all(Array.from({ length: 7 }, (_, n) => post(app, { candidateId: `candidate ${n}` })));
    await settled(file);
    await login();
    const text = await page('/attention');
    expect(text).toContain('Replay all 210');
    expect(Buffer.byteLength(text)).toBeLessThan(150_000);
    const [, which = ''] = /href="(\/attention\?sink=ats&amp;state=dead&amp;cause=[^"]+)"/.exec(text) ?? [];
    const ofCause = await page(which.replaceAll('&amp;', '&'));
    expect(ofCause.match(/name="id"/g)).toHaveLength(7);
    expect(ofCause).toContain('candidate 6');
    expect(ofCause).not.toContain('Replay all');
    expect(await page('/attention?sink=ats&state=dead&cause=none')).toContain('Nothing of this is left.');
    ats.faults.clear();
    const form = { ...group, action: 'replay', confirmed: 'yes', csrf: await csrf() };
    const place = (await send('/attention/change', { form })).headers.get('location') ?? '';
    await eventually(async () => expect(await page(place)).toContain('210 delivered'));
    expect(new Set(ats.calls.map(({ deliveryId }) => deliveryId)).size).toBe(210);
    expect(ats.calls).toHaveLength(210);
  });

  test('is listed fifty at a time, each once', async () => {
    const { page, delivery } = await withDead(Array.from({ length: 51 }, (_, n) => `candidate ${n}`));
    const idsOf = (text: string) =>
      Array.from(text.matchAll(/name="id" value="([^"]+)"/g), ([, id = '']) => id);
    const first = await page('/attention?sink=ats&state=dead');
    const [, next = ''] = /href="([^"]+)">The next 50</.exec(first) ?? [];
    const ids = [first, await page(next.replaceAll('&amp;', '&'))].map(idsOf);
    expect(ids.map(({ length }) => length)).toEqual([50, 1]);
    expect(new Set(ids.flat())).toEqual(new Set(Array.from({ length: 51 }, (_, n) => delivery(n))));
  });

  test('says what it waits for where the sink is paused, and leads there', async () => {
    const { page, submit, delivery, file, ats } = await withDead(['Dana']);
    expect((await run(['pause', 'ats', '--note', 'it is moved', '--config', file])).code).toBe(0);
    const sent = await submit({ action: 'replay', id: delivery(0), sink: 'ats' });
    expect(await page(sent.headers.get('location') ?? '')).toMatch(
      /Not yet: <a href="\/sinks\/ats">ats is paused by \S+ \(since .*\): “it is moved”<\/a>\./,
    );
    expect(ats.calls).toEqual([]);
  });

  test('is left as it is by what no page of ours sent', async () => {
    const { page, send, submit, delivery, audit } = await withDead(['Dana']);
    for (const form of [
      { action: 'erase', id: delivery(0) },
      { action: 'replay', states: 'delivered', sink: 'ats' },
      { ...group, action: 'replay', sink: '' },
      { action: 'replay', states: 'dead', sink: 'ats' },
    ])
      expect((await submit(form)).status).toBe(400);
    const forged = await send('/attention/change', {
      form: { ...group, action: 'replay', confirmed: 'yes' },
    });
    expect(forged.status).toBe(403);
    const unknown = await submit({ action: 'replay', id: 'dlv_nobody_1' });
    expect(await page(unknown.headers.get('location') ?? '')).toContain('there is no delivery dlv_nobody_1');
    expect((await send('/attention/changes/none')).status).toBe(404);
    expect(await audit()).toEqual([]);
  });
});

describe('the API', () => {
  test('replays and discards one or many, and says what was not possible', async () => {
    const { app, delivery, ats, audit, file, events } = await withDead(['Dana', 'Robin', 'Kim']);
    const call = async (path: string, body: object = {}) => {
      const answer = await fetch(`${app.adminUrl}/api/deliveries/${path}`, {
        method: 'POST',
        headers: { ...basic('ci'), 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
    };
    expect(await call(`${delivery(0)}/replay`, { note: 'it works now' })).toEqual({
      status: 200,
      body: { deliveryId: delivery(0), state: 'pending' },
    });
    await settled(file);
    expect(await call(`${delivery(0)}/discard`)).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining('it is delivered, and only') },
    });
    expect(await call('dlv_nobody_1/replay')).toMatchObject({ status: 404 });
    expect(await call('replay', { state: 'sent' })).toMatchObject({ status: 422 });
    expect(await call('replay', {})).toMatchObject({ status: 422 });
    for (const narrowed of [{ sinks: 'other' }, { sink: ['other'] }, { rule: null }])
      expect(await call('discard', { state: 'dead', ...narrowed })).toMatchObject({
        status: 422,
        body: { errors: [{ field: Object.keys(narrowed)[0], detail: expect.stringContaining('Expected ') }] },
      });
    const byEvent = await call('discard', { event: events[1] ?? '' });
    expect(byEvent.body).toEqual({ changed: [delivery(1)], refused: [] });
    expect((await call('replay', { state: 'dead', sink: 'ats' })).body).toEqual({
      changed: [delivery(2)],
      refused: [],
    });
    await settled(file);
    expect(ats.calls).toHaveLength(2);
    expect(await audit()).toMatchObject([
      { who: 'ci', from: 'the API, 127.0.0.1', action: 'replay' },
      { action: 'discard' },
      { note: 'it works now' },
    ]);
  });
});

test('what went out, but not as meant, says whom it is about, and who was left out stands in sight on the page of its event', async () => {
  const smtp = await new SmtpSandbox({ refuse: { 'legal@example.com': '550 5.1.1 No such user' } }).start();
  onTestFinished(() => smtp.close());
  const { app, file, login, page } = await startPages(`
sinks: { mail: { connector: email, url: '${smtp.url()}', from: connector@example.com } }
rules: [ { name: told, when: {}, then: [ { sink: mail, to: [dana@example.com, legal@example.com] } ] } ]
`);
  const { eventId } = await post(app, { candidateId: 'Robin' });
  await settled(file);
  await login();
  const needs = await page('/attention');
  expect(needs).toMatch(new RegExp(`href="/events/${eventId}">Robin</a>\\s+Completed,\\s+Test 1234567`));
  expect(needs).toContain(`dlv_${eventId.slice(4)}_1`);
  const [beforeAttempts] = (await page(`/events/${eventId}`)).split('<details');
  expect(beforeAttempts).toContain('The mail server refuses legal@example.com');
  // A row in a tab that was made anew counts, too, and leaves nobody out.
  expect(await page('/')).toContain(
    '1 delivery went out, but not as meant: <a href="/attention">see which</a>.',
  );
  expect(needs).toMatch(/Where somebody was left out of a message, [^.]*\. Do not send a row\s+again/);
});

describe('in a browser', () => {
  test('a dead letter is seen, its cause fixed, and it is replayed, delivered and found in the audit', async () => {
    const { app, file, text, ats } = await withDead([hostile], ', auth: { bearer: "one" }');
    const page = await openLoggedIn(`${app.adminUrl}/attention`, 'Dana');
    await page.getByText('1 given up').waitFor();

    // The config is fixed; before, a mistake is made.
    await writeFile(file, text.replace('rules: [', 'rules: [ {'));
    await eventually(async () => {
      await page.reload();
      expect(await page.getByText('The changed config was refused').count()).toBe(1);
    });
    await writeFile(file, text.replace('"one"', '"two"'));
    await eventually(async () => {
      await page.reload();
      expect(await page.getByText('The changed config was refused').count()).toBe(0);
    });

    await page.getByRole('button', { name: 'Replay' }).first().click();
    await page.getByRole('dialog').getByText('Send this message to ats again').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
    expect(ats.calls).toHaveLength(0);
    await page.getByRole('button', { name: 'Replay' }).first().click();
    await page.getByRole('dialog').getByLabel('Why').fill('the token is new');
    await page.keyboard.press('Enter');
    // It comes by itself, without a reload.
    await page.getByText('1 delivered').waitFor();
    expect(ats.calls.map(({ headers }) => headers.authorization)).toEqual(['Bearer two']);
    await page.getByRole('link', { name: 'Back to what needs a person' }).click();
    await page.getByText('Nothing needs you').waitFor();
    await page.getByText('“the token is new”').waitFor();
    await page.getByText('by Dana').waitFor();
    await page.getByRole('link', { name: 'Its event' }).click();
    await page.getByRole('heading', { name: 'What people changed' }).waitFor();
    await page.getByText('“the token is new”').waitFor();
  });

  test('everybody can use the pages, in light on a desktop and in dark on a phone', async () => {
    const { app, submit } = await withDead([hostile, 'x'.repeat(200)]);
    const page = await openLoggedIn(`${app.adminUrl}/attention`);
    await page.getByText('Which ones').click();
    expect(await barriersOf(page)).toEqual([]);
    const selected = page.getByRole('button', { name: 'Discard selected' });
    expect(await selected.isVisible()).toBe(false);
    await page.getByRole('checkbox').first().check();
    expect(await barriersOf(page)).toEqual([]);
    await selected.click();
    await page.getByRole('dialog').getByText('Discard the selected messages to ats (1) for good?').waitFor();
    expect(await barriersOf(page)).toEqual([]);
    await page.keyboard.press('Escape');
    const done = await submit({ ...group, action: 'discard' });
    await page.goto(app.adminUrl + (done.headers.get('location') ?? ''));
    expect(await barriersOf(page)).toEqual([]);
  });
});
