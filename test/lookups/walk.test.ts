import { expect, test } from 'vitest';
import { post } from '../commands/tools.ts';
import { barriersOf, openLoggedIn } from '../pages/browser.ts';
import { basic, password as full } from '../pages/tools.ts';
import { eventually } from '../fixtures/eventually.ts';
import { asking, type Told } from './asking.ts';

test('an event is told of with what the API says of its candidate: also when that is not ready, a login ended or calls were too many', async () => {
  const { api, about, command, app } = await asking();
  const ana = await about('ana');
  expect(ana).toMatchObject({
    text: "Eva O'Neill: 94",
    decided: true,
    facts: {
      candidate: {
        state: 'answered',
        reason: null,
        fields: { name: "Eva O'Neill", email: 'eva@example.com', score: 94 },
      },
    },
    deliveries: [{}],
  });

  api.unscoredFor.set('ben', 2);
  api.missingFor.set('ben', 1);
  expect((await about('ben')).facts).toMatchObject({ candidate: { state: 'answered' } });
  expect(api.calls.filter((name) => name === 'candidate')).toHaveLength(5);
  api.endLogins();
  expect((await about('cy')).text).toMatch(/: \d+$/);
  api.faults.once({ kind: 'rate-limit', retryAfterS: 1 }, { kind: 'status', status: 503 });
  expect((await about('dan')).text).toMatch(/: \d+$/);

  const { out: list } = await command('events', '--json', '--candidate', 'ana');
  expect(JSON.parse(list)).toMatchObject({ decided: true, facts: { candidate: { fields: { score: 94 } } } });
  expect(list).not.toContain('Neill');
  expect((await command('event', ana.eventId)).out).toContain(
    `name "Eva O'Neill", email "eva@example.com", score 94`,
  );
  const page = await (await fetch(`${app.adminUrl}/events/${ana.eventId}`)).text();
  expect(page).toContain('What was looked up');
  expect(page).toContain('href="https://tests.example.com/reports/ana"');
  const { out: status } = await command('status', '--json');
  expect(JSON.parse(status)).toMatchObject({
    sinks: [{ sink: 'ats' }, { sink: 'mail' }],
    lookups: [{ lookup: 'candidate', state: 'working', since: null, reason: null, waiting: 0 }],
  });
  const metrics = await (await fetch(`${app.adminUrl}/metrics`)).text();
  expect(metrics).toContain('candidate_connector_events{state="decided"} 4');
  expect(metrics).toContain('candidate_connector_events{state="undecided"} 0');
  expect(metrics).toContain('candidate_connector_lookups_total{lookup="candidate",outcome="answered"} 4');
  expect(metrics).not.toMatch(/(attempts|deliver).*sink="lookup:candidate"/);

  // What the API knows of her is of another test.
  const { eventId: canceled } = await post(app, { candidateId: 'ana', status: 'Canceled' });
  const titleOf = async (id: string) =>
    /<h1[^>]*>([^<]+)/.exec(await (await fetch(`${app.adminUrl}/events/${id}`)).text())?.[1];
  expect(await titleOf(ana.eventId)).toContain(', 94%');
  await eventually(async () => expect((await command('event', canceled)).out).toContain('score 94'));
  expect(await titleOf(canceled)).not.toContain('94');
  const listed = await (await fetch(`${app.adminUrl}/events?candidate=ana`)).text();
  expect(listed.match(/class="score">94%/g)).toHaveLength(1);
});

test('an event is told of without facts when waitFor is over, and it says why there are none', async () => {
  const { api, about, command, app, told } = await asking({ waitFor: '1s', maxDelay: '300ms' });
  // The first call logs in, which on a busy machine may take as long as that.
  await about('missing-0');
  expect(await about('missing-1')).toMatchObject({
    text: 'none of nobody',
    facts: {
      candidate: { state: 'absent', reason: expect.stringContaining('404'), fields: { score: null } },
    },
  });
  expect((await command('status')).out).toMatch(
    /None of the last \d+ calls of candidate found what it asks for: The API answered 404/,
  );
  api.version = ({ name, ...rest }) => ({ ...rest, fullName: name, result: { score: 'high' } });
  expect(await about('renamed')).toMatchObject({
    text: 'unknown',
    facts: {
      candidate: {
        state: 'answered',
        reason: expect.stringContaining('score: expected a number'),
        fields: { name: null },
      },
    },
  });
  api.faults.once({ kind: 'slow', ms: 2000 });
  const slow = await about('slow');
  expect(slow.facts).toMatchObject({
    candidate: {
      state: 'unknown',
      reason: expect.stringContaining('The API was asked, and did not answer.'),
    },
  });
  await api.stop();
  const { eventId } = await post(app, { candidateId: 'down' });
  const waits = JSON.parse((await command('event', eventId, '--json')).out) as Told;
  expect(waits).toMatchObject({
    decided: false,
    facts: { candidate: { state: 'waiting' } },
    deliveries: [],
    rules: null,
  });
  await eventually(() => expect(told()).toHaveLength(5));
  expect(JSON.parse((await command('event', eventId, '--json')).out)).toMatchObject({
    decided: true,
    facts: { candidate: { state: 'unknown', reason: expect.stringContaining('cannot be reached') } },
  });

  // Both are listed until they are answered; what an API has nothing about is an answer.
  const out = async (...args: readonly string[]) => (await command(...args)).out;
  const both = (list: string) => [slow.eventId, eventId].map((id) => list.split(id).length - 1);
  const listed = await out('events', '--unanswered');
  expect([both(listed), listed.match(/evt_/g)?.length]).toEqual([[1, 1], 2]);
  expect(await (await fetch(`${app.adminUrl}/events?lookups=unanswered`)).text()).toContain('2 events');
  // Where rules ask for nothing that is looked up, people have heard of the candidate.
  const missing =
    '2 events of the last 7 days were decided without an answer of a look-up: messages about them lack what it would have found, such as a name or a score, or were not sent';
  expect(await out('status')).toContain(missing);
  expect(await (await fetch(app.adminUrl)).text()).toContain(missing);
  expect(await out('apply', '--rule', 'known', '--dry-run')).toContain('for 2 of them it is not known');
  expect(both(await out('lookup', '--unanswered', '--dry-run'))).toEqual([1, 1]);
  expect((await command('lookup', eventId, '--unanswered')).err).toContain('or --unanswered');
  expect((await command('lookup', 'evt_unknown')).err).toContain('there is no event evt_unknown');
  await api.start();
  api.version = (answer) => answer;
  expect(await out('status')).toContain('`candidate-connector lookup --unanswered` asks again');
  const asked = await command('lookup', '--unanswered', '--since', '1h', '--wait');
  expect(asked).toMatchObject({ code: 0 });
  expect(asked.out).toContain(`${eventId}: look-up candidate is answered`);
  expect(asked.out).toMatch(/told nobody.*\n {2}2 events: .* apply --rule known --dry-run\n/);
  // Nobody has been told yet.
  expect(both(await out('events', '--unanswered'))).toEqual([1, 1]);
  expect(await out('lookup', '--unanswered')).toContain('Nothing is to be asked');
  expect(await out('status')).toContain(
    'the answers are here by now: `candidate-connector apply --rule NAME`',
  );
  expect(await out('status')).not.toContain('lookup --unanswered');
  const late = 'nothing was sent since';
  expect(await out('event', eventId)).toContain(late);
  expect(await (await fetch(`${app.adminUrl}/events/${eventId}`)).text()).toContain(late);
  expect(await out('apply', '--rule', 'known', '--yes', '--wait')).toContain('for 2 of 5 events');
  expect(await out('events', '--unanswered')).toBe('No events.\n');
  expect(await out('status')).not.toContain('without an answer');
});

test('what was looked up can be asked for again: that sends nothing, and a resend shows it', async () => {
  const { api, about, command, told, app } = await asking({
    waitFor: '1500ms',
    maxDelay: '300ms',
    admin: '{ port: 0, password: correct-horse-battery }',
  });
  api.version = ({ name }) => ({ name });
  const { eventId, facts } = await about('ana');
  expect(facts).toMatchObject({ candidate: { fields: { score: null } } });
  api.version = (answer) => answer;
  expect(await command('lookup', eventId, '--wait', '--note', 'it was late')).toMatchObject({
    code: 0,
    out: expect.stringMatching(
      /What went out says what was known then: .* resend DELIVERY…` sends it again\./,
    ),
  });
  const detail = JSON.parse((await command('event', eventId, '--json')).out) as Told & { changes: unknown };
  expect(detail).toMatchObject({
    facts: { candidate: { fields: { score: 94 } } },
    deliveries: [{}],
    changes: [{ action: 'lookup', note: 'it was late', deliveries: [expect.stringMatching(/_3$/)] }],
  });
  const again = await fetch(`${app.adminUrl}/api/events/${eventId}/lookup`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa('dana:correct-horse-battery')}` },
  });
  expect([again.status, await again.json()]).toEqual([200, { deliveries: [expect.stringMatching(/_4$/)] }]);
  expect(told()).toHaveLength(1);

  expect((await command('discard', `${eventId.replace('evt', 'dlv')}_1`)).err).toContain(
    'is a look-up and no message',
  );
  expect((await command('resend', `${eventId.replace('evt', 'dlv')}_2`)).code).toBe(0);
  await eventually(() => expect(told()).toHaveLength(2));
  expect(told()[1]).toBe("none of Eva O'Neill");
});

test('who has it looked up again gets what the API says now, and no answer that was kept from before', async () => {
  const { api, about, command } = await asking({ more: 'cache: 1h' });
  api.version = ({ name, result }) => ({ fullName: name, result });
  const { eventId } = await about('ana');
  api.version = (answer) => answer;
  const calls = () => api.calls.filter((name) => name === 'candidate').length;
  const before = calls();
  expect((await command('lookup', '--absent', '--since', '1h', '--wait')).code).toBe(0);
  expect(JSON.parse((await command('event', eventId, '--json')).out)).toMatchObject({
    facts: { candidate: { fields: { name: "Eva O'Neill" } } },
  });
  expect(calls()).toBe(before + 1);
  // Events that come then have the new answer.
  expect((await about('ana', 2)).text).toBe("Eva O'Neill: 94");
  expect(calls()).toBe(before + 1);
});

test('the page of an event has its look-ups made again, after a question, and shows what came of it', async () => {
  const { api, about, told, app } = await asking({
    waitFor: '1500ms',
    maxDelay: '300ms',
    admin: `{ port: 0, password: ${full}, viewer: only-look }`,
  });
  api.version = ({ name }) => ({ name });
  const { eventId } = await about('ana');
  api.version = (answer) => answer;
  const send = (id: string, form?: Record<string, string>, given?: string) =>
    fetch(`${app.adminUrl}/events/${id}${form ? '/lookup' : ''}`, {
      headers: { accept: 'text/html', ...basic('dana', given) },
      ...(form && { method: 'POST', body: new URLSearchParams(form) }),
    });
  expect(await (await send(eventId, {})).text()).toContain('name="confirmed" value="yes"');
  expect((await send('evt_unknown', { confirmed: 'yes' })).status).toBe(404);
  const viewed = await (await send(eventId, undefined, 'only-look')).text();
  expect(viewed).toContain('What was looked up');
  // Its score was not there.
  expect(viewed).toContain('answered in part');
  expect(viewed).not.toContain('Look up again');
  const asked = api.calls.length;

  const page = await openLoggedIn(`${app.adminUrl}/events/${eventId}`, 'Dana');
  api.faults.once({ kind: 'slow', ms: 1000 });
  await page.getByRole('button', { name: 'Look up again' }).click();
  await page.getByRole('dialog').getByLabel('Why').fill('it was late');
  expect(await barriersOf(page)).toEqual([]);
  expect(api.calls).toHaveLength(asked);
  await page.keyboard.press('Enter');
  await page.getByText('It is asked for again just now.').waitFor();
  // It comes by itself.
  await page.locator('#lookups').getByText('94', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Look up again' }).waitFor();
  await page.getByText('“it was late”').waitFor();
  expect(await barriersOf(page)).toEqual([]);
  expect(told()).toHaveLength(1);
});

test('an API that is down pauses its look-up: status and page say so, and a person may have it tried', async () => {
  const { api, command, told, app } = await asking();
  await api.stop();
  const metric = async (name: string) => {
    const text = await (await fetch(`${app.adminUrl}/metrics`)).text();
    return new RegExp(`${name}\\{sink="lookup:candidate"\\} (\\d)`).exec(text)?.[1];
  };
  expect([await metric('sink_paused'), await metric('sink_failing')]).toEqual(['0', '0']);
  const { eventId } = await post(app, { candidateId: 'ana' });
  for (const candidateId of ['ben', 'cy', 'dan', 'eve', 'fay']) await post(app, { candidateId });
  await eventually(async () => {
    const { code, out } = await command('status', '--json');
    expect([code, JSON.parse(out)]).toMatchObject([
      4,
      {
        needs: ['look-up candidate is paused'],
        sinks: [{ sink: 'ats' }, { sink: 'mail' }],
        lookups: [
          {
            lookup: 'candidate',
            state: 'paused',
            reason: expect.stringContaining('could not be reached'),
            waiting: 6,
          },
        ],
      },
    ]);
  });
  const waiting = (await command('status')).out.split('Waiting\n')[1];
  expect(waiting).toBe('  6 events to be decided, when look-ups have ended\n');
  expect((await command('event', eventId)).out).toContain('none: it is not decided yet');
  const undecided = await (await fetch(`${app.adminUrl}/events/${eventId}`)).text();
  expect(undecided.replaceAll(/<[^>]*>/g, '')).toMatch(
    /waits for the answer of the look-up\s+candidate, until \d\d:\d\d at the latest\./,
  );
  expect(await metric('sink_paused')).toBe('1');
  expect((await command('events')).out).toContain('not decided yet');
  const today = await (await fetch(app.adminUrl)).text();
  expect(today).toContain('look-up candidate is paused');
  expect(today).toContain('what waits is decided with what it finds out.');
  expect(told()).toEqual([]);
  // Others need not wait for what is not decided.
  const applied = await command('apply', '--rule', 'known', '--dry-run');
  expect(applied).toMatchObject({
    code: 0,
    err: '',
    out: expect.stringContaining('6 of them are not decided yet, and left out'),
  });
  const ask = eventId.replace('evt', 'dlv');
  for (const change of ['replay', 'discard', 'resend'])
    for (const how of [[], ['--dry-run']])
      expect(await command(change, `${ask}_1`, ...how)).toMatchObject({
        code: 1,
        err: expect.stringContaining(
          `is a look-up and no message; \`candidate-connector lookup ${eventId}\``,
        ),
      });
  // Before it is up again: it would be found to work by itself.
  expect((await command('retry', 'lookup:candidate')).code).toBe(0);
  await api.start();
  await eventually(() => expect(told()).toHaveLength(6));
  expect(told()).not.toContain('unknown');
});

test('a viewer sees what was found out and what was decided, and nothing that says who the candidate is', async () => {
  const { about, app, http, command, done } = await asking({
    admin: '{ port: 0, password: all-of-it, viewer: only-look }',
  });
  http.faults.once({ kind: 'status', status: 422, body: { error: "what is Eva O'Neill: 94?" } });
  const { eventId } = await about('ana', 7);
  await done();
  // What tools quote, too.
  const { out: list } = await command('events', '--json');
  expect(list).toContain('"accepted":["(personal)"]');
  const { out: whole } = await command('event', eventId);
  expect(whole).toContain('what is (personal): 94?');
  expect(whole).toContain('eva@example.com');
  // It needs a person.
  await about('ana', 8);
  await done();
  const seen = async (path: string, password: string) => {
    const headers = { authorization: `Basic ${btoa(`dana:${password}`)}`, accept: 'text/html' };
    return (await fetch(app.adminUrl + path, { headers })).text();
  };
  for (const path of [
    `/api/events/${eventId}`,
    `/events/${eventId}`,
    '/events',
    '/attention',
    '/sinks/ats',
  ]) {
    expect(await seen(path, 'all-of-it')).toContain('Neill');
    expect(await seen(path, 'only-look')).not.toContain('Neill');
  }
  expect(await seen(`/events/${eventId}`, 'all-of-it')).toMatch(
    /<h1>Candidate ana, Eva O&#39;Neill: .*, 94%<\/h1>/,
  );
  expect(await seen(`/events/${eventId}`, 'only-look')).toMatch(/<h1>Candidate ana: .*, 94%<\/h1>/);
  expect(JSON.parse(await seen(`/api/events/${eventId}`, 'only-look'))).toMatchObject({
    facts: { candidate: { state: 'answered', fields: { score: 94 } } },
    rules: [{ rule: 'known', matched: true }, {}, {}, {}, {}],
    deliveries: [{ message: null }, { message: null }],
  });
  expect((await command('forget', 'ana', '--yes')).code).toBe(0);
  for (const path of ['/events', '/attention', '/sinks/ats'])
    expect(await seen(path, 'all-of-it')).not.toContain('Neill');
});

test('why no message can be made of what was found out says nothing of it either', async () => {
  const { about, command, done } = await asking();
  const { eventId } = await about('ana', 8);
  await done();
  const { out: list } = await command('events');
  expect(list).toContain('No email address: "(personal)"');
  for (const { out } of [await command('status'), await command('events', '--json')])
    expect(out).not.toContain('Neill');
  expect((await command('event', eventId)).out).toContain('Neill');
});

test('events that an API under a wrong address had nothing about are asked about again once it is right', async () => {
  const { api, about, command } = await asking({ waitFor: '1500ms', maxDelay: '300ms' });
  api.missingFor.set('eve', Infinity);
  const { eventId, text } = await about('eve');
  expect(text).toBe('none of nobody');
  const out = async (...args: readonly string[]) => (await command(...args)).out;
  expect(await out('status')).toContain(
    'once it is right, `candidate-connector lookup --absent --since 24h --wait` asks again',
  );

  api.missingFor.delete('eve');
  await about('ana');
  expect(await out('lookup', '--unanswered')).toContain('Nothing is to be asked');
  expect(await out('apply', '--rule', 'known', '--dry-run')).toContain(
    'about 1 of them a look-up found nothing: where its url was wrong, `candidate-connector lookup --absent --since DURATION` asks again',
  );
  for (const wrong of [['--absent'], ['--absent', '--unanswered'], [eventId, '--since', '1h']])
    expect((await command('lookup', ...wrong)).code).toBe(2);
  const listed = await out('lookup', '--absent', '--since', '24h', '--dry-run');
  expect(listed.match(/evt_\w+/g)).toEqual([eventId]);
  const asked = await command('lookup', '--absent', '--since', '24h', '--wait');
  expect(asked.out).toMatch(/told nobody.*\n {2}1 event: .* apply --rule known --dry-run\n/);
  expect(await out('lookup', '--absent', '--since', '24h')).toContain('Nothing is to be asked');
});

test('an API that changed its answer is told of, and asked again about all who lacked something of it', async () => {
  const { app, api, about, command } = await asking();
  const out = async (...args: readonly string[]) => (await command(...args)).out;
  const nothing = /none of the last/i;
  const today = async () => (await fetch(app.adminUrl)).text();
  for (const id of ['a', 'b', 'c', 'd', 'e']) await about(id);
  expect(await out('status')).not.toMatch(nothing);
  expect(await today()).not.toMatch(nothing);
  api.version = ({ name, ...rest }) => ({ ...rest, fullName: name, result: { score: '94 %' } });
  const changed: string[] = [];
  for (let each = 0; each < 20; each += 1) changed.push((await about(`late-${each}`)).eventId);
  expect(await out('status')).toMatch(
    /None of the last 20 answers of candidate had name or score, or not of the type .*\n.* lookup --absent --since 24h/,
  );
  expect(await today()).toContain('None of the last 20 answers of candidate had name or score');
  const listed = await out('lookup', '--absent', '--since', '24h', '--dry-run');
  expect(listed.match(/evt_\w+/g)).toEqual(changed);
  api.version = (answer) => answer;
  await about('right');
  expect(await out('status')).not.toMatch(nothing);
  expect(await today()).not.toMatch(nothing);
});

test('one answer without a field, after several that were not ready, is not taken for an API that changed', async () => {
  const { api, about, command } = await asking();
  api.unscoredFor.set('ben', 6);
  api.version = ({ name: _, ...rest }) => rest;
  await about('ben');
  expect(api.calls.filter((name) => name === 'candidate')).toHaveLength(7);
  expect((await command('status')).out).not.toMatch(/none of the last/i);
});
