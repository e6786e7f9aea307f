import { DatabaseSync } from 'node:sqlite';
import Ajv from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { expect, onTestFinished, test } from 'vitest';
import type { openApi } from '../../src/pages/api/openapi.ts';
import { endpoint, post } from '../commands/tools.ts';
import { basic, startPages } from './tools.ts';

type Document = ReturnType<typeof openApi>;

const login = basic('grafana');

/** A connector that has delivered one event, and given up another one. */
async function startApi() {
  const http = await endpoint();
  const { app, folder } = await startPages(
    `catalog: { 1234567: { name: Backend } }
sinks: { ats: { connector: webhook, url: '\${ATS_URL}', allowPrivate: true } }
rules: [ { name: all, when: {}, then: [ { sink: ats } ] } ]
policies: [ { never: { sink: ats, when: {} } }, { always: { sink: ats, when: {} } } ]
`,
    { ATS_URL: http.url },
  );
  const send = (path: string, body?: object) =>
    fetch(`${app.adminUrl}/api${path}`, {
      headers: { ...login, 'content-type': 'application/json' },
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
    });
  const json = async (path: string, body?: object) => (await send(path, body)).json() as Promise<any>;
  const states = async () =>
    ((await json('/events')).events as { deliveries: { state: string }[] }[]).map(
      ({ deliveries }) => deliveries[0]?.state,
    );
  const good = await post(app, { candidateId: 'good', status: 'Completed' });
  await expect.poll(states).toEqual(['delivered']);
  http.faults.decide = () => ({ kind: 'status', status: 410 });
  const bad = await post(app, { candidateId: 'bad', status: 'Canceled' });
  await expect.poll(states).toEqual(['dead', 'delivered']);
  http.faults.decide = () => null;
  return { app, folder, send, json, good: good.eventId, bad: bad.eventId };
}

/** Says what is wrong with an answer of a path, as the document has it. */
function checker({ paths }: Document) {
  const ajv = addFormats.default(new Ajv.Ajv2020({ allErrors: true, strict: false }));
  return (path: string, method: string, status: number, answer: unknown): string[] => {
    const operation = (paths as any)[path]?.[method];
    const [key, type] =
      status === 200 ? ['200', 'application/json'] : ['default', 'application/problem+json'];
    const validate = ajv.compile(operation.responses[key].content[type].schema);
    return validate(answer)
      ? []
      : validate.errors!.map(({ instancePath, message }) => `${instancePath} ${message}`);
  };
}

test('every answer is what the document says, and every path is tried', async () => {
  const { send, json, good, bad, folder } = await startApi();
  const document = (await json('/openapi.json')) as Document;
  const faultsOf = checker(document);
  const delivery = (id: string) => `dlv_${id.slice(4)}_1`;
  const asked: [path: string, of: string, status: number, body?: object][] = [
    ['/status', '/status', 200],
    ['/events', '/events', 200],
    ['/events?status=Completed&limit=1&test=1234567', '/events', 200],
    ['/events?status=Done&limit=0&x=1', '/events', 400],
    [`/events/${good}`, '/events/{id}', 200],
    [`/events/${bad}`, '/events/{id}', 200],
    ['/events/evt_unknown', '/events/{id}', 404],
    ['/routes', '/routes', 200],
    ['/refused', '/refused', 200],
    ['/openapi.json', '/openapi.json', 200],
    [`/deliveries/${delivery(bad)}/discard`, '/deliveries/{id}/discard', 200, { note: 'a test' }],
    [`/deliveries/${delivery(good)}/replay`, '/deliveries/{id}/replay', 409, {}],
    ['/deliveries/dlv_unknown/replay', '/deliveries/{id}/replay', 404, {}],
    [`/deliveries/${bad}/replay`, '/deliveries/{id}/replay', 404, {}],
    ['/deliveries/replay', '/deliveries/replay', 200, { state: 'dead' }],
    ['/deliveries/discard', '/deliveries/discard', 422, {}],
    ['/deliveries/discard', '/deliveries/discard', 200, { state: 'held' }],
    [`/events/${good}/lookup`, '/events/{id}/lookup', 409, {}],
    ['/events/evt_unknown/lookup', '/events/{id}/lookup', 404, {}],
    ['/sinks/ats/retry', '/sinks/{sink}/retry', 200, {}],
    ['/sinks/nobody/retry', '/sinks/{sink}/retry', 404, {}],
    ['/refused/rej_a/accept', '/refused/{id}/accept', 200, {}],
    ['/refused/rej_b/ignore', '/refused/{id}/ignore', 200, {}],
    ['/refused/rej_b/ignore', '/refused/{id}/ignore', 404, {}],
    ['/refused/rej_b/accept', '/refused/{id}/accept', 404, {}],
    ['/sinks/ats/resume', '/sinks/{sink}/resume', 409, {}],
    ['/sinks/ats/pause', '/sinks/{sink}/pause', 422, { for: 'a while' }],
    ['/sinks/nobody/pause', '/sinks/{sink}/pause', 404, {}],
    ['/sinks/ats/pause', '/sinks/{sink}/pause', 200, { for: '2h', note: 'a test' }],
    ['/sinks/ats/retry', '/sinks/{sink}/retry', 409, {}],
    ['/status', '/status', 200],
    ['/sinks/ats/resume', '/sinks/{sink}/resume', 200, {}],
  ];
  expect((await send('/sinks/ats/retry', {})).status).toBe(409);
  using store = new DatabaseSync(`${folder}/connector.db`);
  store.exec('update sink_figures set failures = 5, first_failed_at = 1, last_failed_at = 60001');
  store.exec(`insert into refused_events values
    ('rej_a', 1, '192.0.2.1', 'token', 'a', null, 1, 'Canceled', null, 1, '{}'),
    ('rej_b', 1, '192.0.2.1', 'token', 'b', 1, 1, 'Canceled', 'c', 1, '{}')`);
  for (const [path, of, status, body] of asked) {
    const answer = await send(path, body);
    const faults = faultsOf(`/api${of}`, body ? 'post' : 'get', answer.status, await answer.json());
    expect({ path, status: answer.status, faults }).toEqual({ path, status, faults: [] });
  }
  const tried = new Set(asked.map(([, of]) => `/api${of}`));
  expect(Object.keys(document.paths).filter((path) => !tried.has(path))).toEqual([]);
  // That a change leaves its mark shows in the story.
  expect((await json(`/events/${bad}`)).changes).toMatchObject([
    { action: 'discard', who: 'grafana', note: 'a test' },
  ]);
});

test('events are found page by page, by what a program asks for', async () => {
  const { app, json, good, bad } = await startApi();
  const first = await json('/events?limit=1');
  expect(first).toMatchObject({ events: [{ id: bad }], after: bad });
  expect(await json(`/events?limit=1&after=${first.after}`)).toMatchObject({
    events: [{ id: good }],
    after: null,
  });
  const idsFor = async (query: string) =>
    ((await json(`/events?${query}`)).events as { id: string }[]).map(({ id }) => id);
  expect(await idsFor('candidate=good')).toEqual([good]);
  expect(await idsFor('state=dead&sink=ats&rule=all')).toEqual([bad]);
  expect(await idsFor('since=2100-01-01T00:00:00Z')).toEqual([]);
  expect(await idsFor('until=2100-01-01T00:00:00%2B01:00&status=Canceled')).toEqual([bad]);

  const of = { candidateId: 'of the largest', status: 'Completed', testId: Number.MAX_SAFE_INTEGER };
  const { eventId: largest } = await post(app, of, 'quoted by support');
  expect(await idsFor('correlation=quoted%20by%20support')).toEqual([largest]);
  expect(await idsFor(`test=${Number.MAX_SAFE_INTEGER}`)).toEqual([largest]);
  const { eventId: numbered } = await post(app, {
    candidateId: 'with a number',
    candidateNumericalId: 20970,
  });
  expect(await idsFor('candidate=20970')).toEqual([numbered]);
  expect(await idsFor('candidate=of%20the')).toEqual([largest]);
  const page = async (query: string) =>
    (await fetch(`${app.adminUrl}/events?${query}`, { headers: login })).text();
  const has = (shown: string) => [largest, numbered].map((id) => shown.includes(id));
  expect(has(await page(`test=${Number.MAX_SAFE_INTEGER}`))).toEqual([true, false]);
  expect(has(await page('correlation=quoted+by+support+'))).toEqual([true, false]);
  const found = await page('candidate=20970');
  expect(has(found)).toEqual([false, true]);
  expect(found).toMatch(/>20970<\/a\s*>[^]*title="with a number">with a number</);
});

test('what cannot be understood in a search is told with what would be right', async () => {
  const { json } = await startApi();
  const { errors } = await json('/events?limit=0&test=x&status=Done&since=7d&form=1');
  expect(errors.map(({ field, detail }: any) => `${field}: ${detail}`)).toEqual([
    'test: Expected the id of a test, a whole number.',
    'status: Expected Completed, DidNotTake or Canceled.',
    'since: Expected a time such as 2026-11-21T22:00:00Z.',
    'limit: Expected a number of at least 1.',
    expect.stringMatching(/^form: Expected one of candidate, test, /),
  ]);
});

test('without the store, programs are told so, and nothing of where it is', async () => {
  const { app, send, folder } = await startApi();
  onTestFinished(() => app.stop());
  const { rename } = await import('node:fs/promises');
  await rename(`${folder}/connector.db`, `${folder}/elsewhere.db`);
  for (const path of ['/status', '/events']) {
    const answer = await send(path);
    expect([answer.status, await answer.text()]).toEqual([503, expect.not.stringContaining(folder)]);
  }
});
