import { readFile, writeFile } from 'node:fs/promises';
import { expect, onTestFinished, test } from 'vitest';
import { connectors } from '../../connectors/index.ts';
import { SmtpSandbox } from '../../sandbox/smtp.ts';
import { parseConfig } from '../../src/config/load.ts';
import { prepare } from '../../src/deliveries/prepare.ts';
import { accepting } from '../../src/intake.ts';
import { openStore } from '../../src/store/open.ts';
import { parseTable } from '../../src/support/csv.ts';
import { base, jsonLines, run, serving, settled, workplace } from '../commands/tools.ts';
import { failure } from '../config/tools.ts';
import { eventWith } from '../fixtures/event.ts';
import { eventually } from '../fixtures/eventually.ts';

const configText = (folder: string, url: string, more: string) => `${base(folder)}
timezone: Europe/Zagreb
sinks:
  mail: { connector: email, url: '${url}', from: hiring@example.com, retry: { minDelay: 20ms, maxDelay: 40ms } }
${more}`;

const daily = (name: string) => `catalog: { 7: { name: '${name}' } }
rules:
  - name: Ergebnisse / Büro
    when: {}
    then: [ { sink: mail, to: [a@example.com, b@example.com], attach: csv, digest: { every: 1h, max: 500 } } ]
`;

/** Events that came then (ms), as the receiver hands them over. */
async function came(file: string, ids: readonly string[], receivedAt: number): Promise<string[]> {
  const config = parseConfig(await readFile(file, 'utf8'), file, { env: {}, connectors });
  const store = await openStore(config.store.url, { serve: false });
  await store.saveConfig({ id: config.plan.id, source: config.planSource, savedAt: receivedAt });
  const accept = accepting({ store, config: () => config });
  const accepted = await Promise.all(
    ids.map((candidateId, candidateNumericalId) => {
      const event = { candidateId, candidateNumericalId, testId: 7, status: 'Completed' } as const;
      return accept({ event, raw: event, correlationId: null, traceparent: null, receivedAt });
    }),
  );
  await store.close();
  return accepted.map(({ eventId }) => eventId);
}

test('a digest brings its list of 500 as a table without formulas: the same to who was refused at first, after a restart with another config', async () => {
  const smtp = await new SmtpSandbox({ refuse: { 'b@example.com': '450 4.2.0 Later' } }).start();
  onTestFinished(() => smtp.close());
  const { folder, write } = await workplace();
  const file = await write('config.yaml', configText(folder, smtp.url(), daily('=1+1; "Übung", žćš')));
  const ids = Array.from({ length: 500 }, (_, n) =>
    n === 0 ? '=HYPERLINK("//evil.example";1)' : `Zoë ${n}`,
  );
  const at = new Date(Date.now() - 3_600_000);
  const [eventId = ''] = await came(file, ids, at.getTime());

  const first = await serving(file);
  await eventually(() => expect(smtp.mails).toHaveLength(1));
  await first.stop();
  smtp.refuse = {};
  await writeFile(file, configText(folder, smtp.url(), daily('Other').replace('attach: csv, ', '')));
  const second = await serving(file);
  await settled(file);

  expect(smtp.mails.map(({ envelope }) => envelope.to)).toEqual([['a@example.com'], ['b@example.com']]);
  const [mail, later] = smtp.mails.map(({ parsed }) => parsed.attachments);
  expect(later).toEqual(mail);
  const [table, ...more] = mail!;
  const inZagreb = at.toLocaleString('sv', { timeZone: 'Europe/Zagreb' });
  const name = `Ergebnisse-Büro-${inZagreb.slice(0, 16).replace(' ', '-').replace(':', '')}.csv`;
  expect(more).toEqual([]);
  expect(table).toMatchObject({ filename: name, mimeType: 'text/csv' });
  const text = Buffer.from(table!.content as ArrayBuffer).toString();
  expect(text.startsWith('\u{feff}receivedAt,')).toBe(true);
  const { header, rows, faults } = parseTable(text);
  expect(faults).toEqual([]);
  const cells = rows.map((row) => row.map((cell) => cell.text));
  expect([header.map((cell) => cell.text), ...cells.slice(0, 1)]).toEqual([
    ['receivedAt', 'candidateId', 'candidateNumericalId', 'testId', 'test', 'status'],
    [at.toISOString(), `'=HYPERLINK("//evil.example";1)`, '0', '7', `'=1+1; "Übung", žćš`, 'Completed'],
  ]);
  expect(new Set(cells.map(([, candidate]) => candidate))).toEqual(new Set([`'${ids[0]}`, ...ids.slice(1)]));

  const [story] = jsonLines<{ deliveries: { message: unknown }[] }>(
    await run(['event', eventId, '--json', '--config', file]),
  );
  expect(story!.deliveries[0]!.message).toMatchObject({ attachments: [{ content: text }] });
  const page = await (await fetch(`${second.adminUrl}/events/${eventId}`)).text();
  expect(page).toContain(`Attached: ${name}`);
});

const looking = `lookups:
  candidate: { url: 'https://api.example/{{ event.candidateId }}', fields: { name: { at: /name, personal: true }, score: { at: /score } } }
rules:
  - { name: all, when: {}, then: [ { sink: mail, to: a@example.com, attach: csv, digest: { at: '09:00' } } ] }
scenarios:
  - event: { status: Completed, testId: 7 }
    expect: [ { sink: mail, attach: csv } ]
`;

test('nothing that was looked up is in the table, also where the mail names it', () => {
  const { plan, sinks } = parseConfig(configText('/tmp', 'smtp://localhost', looking), 'config.yaml', {
    env: {},
    connectors,
  });
  const event = eventWith({ candidateId: 'c1', testId: 7, candidateNumericalId: 4711 });
  const found = {
    state: 'answered',
    at: 0,
    reason: null,
    fields: { name: 'Ana Kovač', score: '87' },
  } as const;
  const about = { events: [event], facts: new Map([[event.id, { candidate: found }]]), notice: null };
  const prepared = prepare(plan.then[0]![0]!, about, 'dlv_1', plan, sinks.get('mail')!, 0) as never as {
    message: { subject: string; attachments: { content: string }[] };
  };
  expect(prepared.message.subject).toContain('Ana Kovač');
  expect(prepared.message.attachments[0]!.content).toMatch(/^.*\r\n[^,]+,c1,4711,7,,Completed\r\n$/);
});

test('semicolons part the cells where a comma begins the decimals, as spreadsheets of that country expect', () => {
  const text = configText('/tmp', 'smtp://localhost', `language: de\n${daily('Büro; links, oben')}`);
  const { plan, sinks } = parseConfig(text, 'config.yaml', { env: {}, connectors });
  const event = eventWith({ candidateId: 'c1', testId: 7, candidateNumericalId: 4711 });
  const about = { events: [event], notice: null };
  const prepared = prepare(plan.then[0]![0]!, about, 'dlv_1', plan, sinks.get('mail')!, 0) as never as {
    message: { attachments: { content: string }[] };
  };
  expect(prepared.message.attachments[0]!.content).toMatch(
    /^\uFEFFreceivedAt;candidateId;.*\r\n[^;]+;c1;4711;7;"Büro; links, oben";Completed\r\n$/,
  );
});

test('explain shows the table, and a scenario may ask for it', async () => {
  const { folder, write } = await workplace();
  const file = await write('config.yaml', configText(folder, 'smtp://localhost', looking));
  const { out } = await run(['explain', '--status', 'Completed', '--test', '7', '--candidate', 'c1', file]);
  expect(out).toMatch(/filename: all-[\d-]+\.csv/);
  expect(await run(['check', file])).toMatchObject({ code: 0 });
  await writeFile(file, configText(folder, 'smtp://localhost', looking.replace('attach: csv, d', 'd')));
  expect((await run(['check', file])).out).toContain('expected attach "csv", but nothing would be sent');
});

test.each([
  ['', 'mail, to: a@example.com, attach: csv', '4:76 only a digest has a list; add one, as in digest'],
  ['', 'mail, to: a@example.com, attach: xlsx, digest: { every: 1h }', '4:76 expected csv'],
  ['', 'slack, channel: "#a", attach: csv, digest: { every: 1h }', '4:65 unknown key "attach"'],
  [
    'alerts',
    'mail, to: a@example.com, attach: csv',
    '4:67 only a digest has a list, and an alert has no digest',
  ],
])('%s { sink: %s } is refused at its place', (of, action, expected) => {
  const text = [
    'receiver: { path: /hook }',
    'sinks: { slack: { connector: slack, token: "${TOKEN}" }, mail: { connector: email, url: smtp://localhost, from: a@b.ch } }',
    ...(of === ''
      ? ['rules:', `  - { name: all, when: {}, then: [{ sink: ${action} }] }`]
      : ['rules: []', `alerts: { dead: { then: [{ sink: ${action} }] } }`]),
  ].join('\n');
  const { problems } = failure(() =>
    parseConfig(text, 'config.yaml', { env: { TOKEN: 'xoxb-1' }, connectors }),
  );
  expect(problems.map(({ line, column, message }) => `${line}:${column} ${message}`).join('\n')).toContain(
    expected,
  );
});
