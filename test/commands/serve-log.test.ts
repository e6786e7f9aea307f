import { writeFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { head, Wire } from '../receiver/wire.ts';
import {
  endpoint,
  jsonLines,
  logging,
  loud,
  nothing,
  post,
  run,
  serve,
  settled,
  workplace,
} from './tools.ts';
import { eventually } from '../fixtures/eventually.ts';

describe('the log', () => {
  const config = (folder: string, url: string, more = '') => `${loud(folder)}
sinks: { ats: { connector: webhook, url: '${url}', allowPrivate: true, secret: '\${ATS_SECRET}' } }
rules: [ { name: told, when: {}, then: [ { sink: ats } ] } ]
${more}`;
  const env = { ATS_SECRET: 'whsec_bm90IGZvciB0aGUgbG9n', TOKEN: 'also-not-for-the-log' };

  test('has one line for each request and one for each attempt, with all ids, and no payload; the problems of a changed config, and no secret or stack', async () => {
    const { folder, write } = await workplace();
    const http = await endpoint();
    http.faults.once({ kind: 'status', status: 410 });
    const file = await write('config.yaml', config(folder, http.url));
    const { app, lines, connector } = await serve(file, env);
    const logged = (msg: string) => lines().filter((line) => line.msg === msg);
    const { eventId } = await post(app, { candidateId: 'Dana', note: 'private matters' }, 'cor-1');
    await eventually(() => expect(logged('attempt')).toHaveLength(1));
    const robin = await post(app, { candidateId: 'Robin' }, env.ATS_SECRET);
    await eventually(() => expect(logged('attempt')).toHaveLength(2));
    const line = { level: 'info', time: expect.stringMatching(/Z$/), durationMs: expect.any(Number) };
    expect(logged('request')).toMatchObject([
      { ...line, eventId, correlationId: 'cor-1', outcome: 'accepted', status: 202 },
      { ...line, eventId: robin.eventId, correlationId: '***', outcome: 'accepted' },
    ]);
    const told = { rule: 'told', sink: 'ats', attempt: 1, durationMs: expect.any(Number) };
    const dead = {
      outcome: 'rejected',
      reason: 'not_found',
      state: 'dead',
      detail: expect.stringContaining('410'),
    };
    expect(logged('attempt')).toMatchObject([
      {
        ...told,
        ...dead,
        level: 'warn',
        eventId,
        deliveryId: `dlv_${eventId.slice(4)}_1`,
        correlationId: 'cor-1',
      },
      { ...told, eventId: robin.eventId, correlationId: '***', outcome: 'delivered', state: 'delivered' },
    ]);

    // The second line is only a warning, not the cause.
    const more =
      "unmatched: [ { sink: atz, path: '${TOKEN}' } ]\ncatalog: { 1: { owner: a }, 2: { ownr: b } }";
    await writeFile(file, config(folder, http.url, more));
    await eventually(() => expect(lines().at(-1)?.msg).toContain('config not reloaded'));
    const { level, err } = lines().at(-1)!;
    expect({ level, err }).toEqual({
      level: 'error',
      err: {
        type: 'ConfigError',
        file,
        problems: [{ line: 9, column: 22, message: 'there is no sink "atz"; did you mean "ats"?' }],
      },
    });
    await writeFile(file, config(folder, http.url, 'unmatched: [ { sink: ats } ]'));
    await eventually(() => expect(lines().at(-1)?.msg).toBe('config reloaded'));
    await connector.stop();
    for (const hidden of ['private matters', ...Object.values(env)])
      expect(connector.lines.join('\n')).not.toContain(hidden);
  });

  test('follows the trace of a request, as do the look-ups, messages and digests of its event; without one it makes one', async () => {
    const { folder, write } = await workplace();
    const http = await endpoint();
    const sink = `connector: webhook, url: '${http.url}', allowPrivate: true`;
    const file = await write(
      'config.yaml',
      `${loud(folder)}
lookups: { candidate: { url: '${http.url}/asked', allowPrivate: true, fields: { known: { at: /ok, type: boolean } } } }
sinks: { ats: { ${sink} }, own: { ${sink}, headers: { Traceparent: mine } } }
rules:
  - { name: told, when: { candidate.known: true }, then: [ { sink: ats, path: /told }, { sink: own, path: /own } ] }
  - { name: daily, when: {}, then: [ { sink: ats, path: /digest, digest: { every: 1s } } ] }
`,
    );
    const { app, lines } = await logging(file);
    const given = {
      ids: '4bf92f3577b34da6a3ce929d0e0e4736',
      header: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00',
    };
    const { eventId } = await post(app, { candidateId: 'Dana' }, 'cor-1', { traceparent: given.header });
    const other = await post(app, { candidateId: 'Robin' }, 'cor-2', {
      traceparent: given.header.toUpperCase(),
    });
    await post(app, { candidateId: 'Robin' }, 'cor-2');
    await eventually(() => expect(http.calls.map(({ path }) => path)).toContain('/hooks/digest'));
    await settled(file);
    await app.stop();
    const [first, second] = jsonLines<{ id: string; traceId: string }>(
      await run(['events', '--json', '--config', file]),
    ).toReversed();
    expect([first, second]).toMatchObject([{ id: eventId, traceId: given.ids }, { id: other.eventId }]);
    const made = second!.traceId;
    expect(made).toMatch(/^[\da-f]{32}$/);

    const parents = (path: string) =>
      http.calls.filter((call) => call.path === path).map(({ headers }) => headers['traceparent'] as string);
    const call = (traceId: string, flags: string) =>
      expect.stringMatching(`^00-${traceId}-[0-9a-f]{16}-${flags}$`);
    const both = [call(given.ids, '00'), call(made, '01')];
    for (const path of ['/hooks/asked', '/hooks/told'])
      expect(parents(path)).toEqual(expect.arrayContaining(both));
    expect(parents('/hooks/own')).toEqual(['mine', 'mine']);
    expect(parents('/hooks/digest')[0]).toEqual(call(given.ids, '00'));
    const logged = lines().filter(({ msg }) => ['request', 'attempt', 'look-up'].includes(msg));
    const expected = (id: unknown) => (id === eventId ? given.ids : made);
    const repeat = logged.filter(({ outcome }) => outcome === 'duplicate');
    expect(repeat).toMatchObject([{ eventId: other.eventId, traceId: null }]);
    for (const line of logged.filter((one) => !repeat.includes(one)))
      expect(line['traceId']).toBe(expected(line['eventId']));
    expect(new Set(logged.map(({ msg }) => msg)).size).toBe(3);
  });

  test('tells what no alert could tell: that a notice of deliveries given up was itself given up', async () => {
    const { folder, write } = await workplace();
    const [ats, ops] = [await endpoint(), await endpoint()];
    for (const { faults } of [ats, ops]) faults.once({ kind: 'status', status: 410 });
    const file = await write(
      'config.yaml',
      `${loud(folder)}
sinks:
  ats: { connector: webhook, url: '${ats.url}', allowPrivate: true }
  ops: { connector: webhook, url: '${ops.url}', allowPrivate: true }
rules: [ { name: told, when: {}, then: [ { sink: ats } ] } ]
alerts: { dead: { then: [ { sink: ops } ] } }
`,
    );
    const { app, lines } = await logging(file);
    await post(app, { candidateId: 'Dana' });
    const notTold = () =>
      lines().find(({ level, msg }) => level === 'error' && msg.includes('alert could not be delivered'));
    await eventually(() => expect(notTold()).toBeDefined(), { timeout: 18_000, interval: 100 });
    type Notice = { id: string; deliveries: { id: string }[] };
    const [notice] = jsonLines<Notice>(await run(['events', '--notices', '--json', '--config', file]));
    expect(notTold()).toMatchObject({
      noticeId: notice?.id,
      rule: 'alerts.dead',
      sink: 'ops',
      state: 'dead',
      notice: { cause: 'dead ats: not_found in told 0', detail: expect.stringContaining('410') },
    });
    expect(notice).toMatchObject({
      cause: 'dead ats: not_found in told 0',
      deliveries: [{ sink: 'ops', state: 'dead' }],
    });
    await run(['replay', notice?.deliveries[0]?.id ?? '', '--config', file]);
    await eventually(() => expect(ops.calls).toHaveLength(1));
    expect(JSON.parse(ops.calls[0]?.body ?? '')).toMatchObject({
      type: 'connector.alert',
      data: { alert: 'dead', sink: 'ats', count: 1 },
    });
  });

  test('names the table where a mistake in that keeps a config from being loaded', async () => {
    const { folder, write } = await workplace();
    const table = await write('tests.csv', 'test,name\n1,One\n');
    const file = await write('config.yaml', `${loud(folder)}catalog: { file: tests.csv }\n${nothing}`);
    const { lines, out } = await logging(file);
    await write('tests.csv', 'test,name\nx,One\n');
    await eventually(() => expect(out()).toContain('config not reloaded'));
    expect(lines().at(-1)?.['err']).toMatchObject({ problems: [{ file: table, line: 2, column: 1 }] });
  });

  test('stays JSON where a number in it is a secret', async () => {
    const { folder, write } = await workplace();
    const sink = (more: string) =>
      `sinks: { a: { connector: webhook, url: 'https://h', ${more} } }\nrules: []\n`;
    const text = loud(folder) + sink("auth: { bearer: '${PIN}' }");
    const file = await write('config.yaml', text);
    const { lines, out } = await logging(file, { PIN: '4711' });
    await writeFile(file, `${'\n'.repeat(4710)}nonsense: 1\n${text}`);
    await eventually(() => expect(out()).toContain('config not reloaded'));
    expect(lines().at(-1)?.['err']).toMatchObject({ problems: [{ line: '***', column: 1 }] });
  });

  test.each(['json', 'pretty'])('shows what a stranger sends and nobody sees: %s', async (format) => {
    const { folder, write } = await workplace();
    const proxied = loud(folder).replace('allowFrom: any', 'allowFrom: any, trustProxy: 1') + nothing;
    const file = await write('config.yaml', proxied.replace('level: info', `level: info, format: ${format}`));
    const { app, out } = await logging(file);
    const wire = await Wire.open(Number(new URL(app.receiverUrl).port));
    const sent = head('/hook', { 'content-length': 2, 'x-forwarded-for': 'a\u009B2J\u00AD' });
    wire.send(Buffer.from(`${sent}{}`, 'latin1'));
    await wire.answer();
    const shown = format === 'json' ? '"a\\u009b2J\\u00ad"' : 'a\\u{9b}2J\\u{ad}';
    await eventually(() => expect(out()).toContain(shown));
    expect(out()).not.toMatch(/[^\P{Cc}\n]|\p{Default_Ignorable_Code_Point}/u);
  });
});
