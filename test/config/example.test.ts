import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { connectors } from '../../connectors/index.ts';
import { jsonSchemaText } from '../../src/commands/config/schema.ts';
import { loadConfig } from '../../src/config/load.ts';
import { Source } from '../../src/config/text/problems.ts';
import { runScenarios } from '../../src/scenarios/run.ts';

const root = join(import.meta.dirname, '../..');
const exampleFile = join(root, 'config.example.yaml');

/** The variables that the example needs; all others have a default in it. */
const needed = {
  SLACK_BOT_TOKEN: 'xoxb-1',
  SHEET_ID: 'sheet-1',
  GOOGLE_CREDENTIALS: '{"client_email":"robot@example.com","private_key":"-----BEGIN"}',
  SMTP_URL: 'smtp://user:password@mail.example.com:587',
  ATS_SECRET: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
};

const ajv = new Ajv({ allowUnionTypes: true, strict: true });
(addFormats as unknown as (ajv: Ajv) => void)(ajv);
const schemaText = jsonSchemaText();
const validate = ajv.compile(JSON.parse(schemaText) as object);

test('the example is valid, without a warning, and its scenarios come out as they say', async () => {
  const config = await loadConfig(exampleFile, { env: needed, connectors });
  expect(config.warnings).toEqual([]);
  expect(await runScenarios(config)).toEqual({ problems: [], unreached: [] });
  expect([...config.sinks.keys()]).toEqual(['slack', 'sheet', 'mail', 'ats']);
});

test('the example asks for nothing else than it needs', async () => {
  const error = await loadConfig(exampleFile, { env: {}, connectors }).catch((thrown: unknown) => thrown);
  const missing = [...(error as Error).message.matchAll(/environment variable (\w+) is not set/g)].map(
    ([, name]) => name,
  );
  expect(missing).toEqual(Object.keys(needed));
});

test('of the comments of the example the page shows all but the place of a password', async () => {
  const text = await readFile(exampleFile, 'utf8');
  const lines = text.split('\n');
  const hidden = new Source(text).shown((part) => part).filter((line, at) => line !== lines[at]);
  expect(hidden).toEqual(['    url: ${SMTP_URL} # smtp://user:**@host:587 or smtps://…:465']);
});

test('the committed schema is the one of this code', async () => {
  expect(await readFile(join(root, 'config.schema.json'), 'utf8')).toBe(schemaText);
});

test('the example agrees with the schema that it names', async () => {
  const text = await readFile(exampleFile, 'utf8');
  expect(text.split('\n')[0]).toBe('# yaml-language-server: $schema=./config.schema.json');
  validate(parse(text));
  expect(validate.errors).toBeNull();
});

test.each([
  ['an unknown key', 'rules: []\nsinks: {}\nreciever: {}'],
  ['a duration without a unit', 'rules: []\nsinks: {}\nstore: { retention: 30 }'],
  ['a sink without its credential', 'rules: []\nsinks: { slack: { connector: slack } }'],
  ['an unknown status', 'rules: [ { name: a, when: { status: Complete }, then: [] } ]\nsinks: {}'],
  [
    'an action with a key of no connector',
    'rules: [ { name: a, when: {}, then: [ { sink: x, nope: 1 } ] } ]\nsinks: {}',
  ],
  [
    'an alert that waits for others',
    'rules: []\nsinks: {}\nalerts: { dead: { then: [ { sink: x, to: a@b.example, digest: { every: 1h } } ] } }',
  ],
])('the schema refuses %s', (_, text) => {
  expect(validate(parse(text))).toBe(false);
});

test('the schema lets actions say what they say by default', () => {
  const actions =
    '[ { sink: x, to: a@b.example }, { sink: y, tab: T }, { sink: x, to: a@b.example, digest: { every: 1h } }, { sink: y, tab: T, digest: { at: "09:00" } } ]';
  const alert = '{ then: [ { sink: x, to: a@b.example }, { sink: y }, { sink: z, channel: "#ops" } ] }';
  validate(
    parse(`sinks: {}\nrules: [ { name: a, when: {}, then: ${actions} } ]\nalerts: { dead: ${alert} }`),
  );
  expect(validate.errors).toBeNull();
});

test('the schema accepts a section whose keys are all commented out where `check` does', () => {
  validate(parse('rules: []\nsinks: {}\nlinks:\nreceiver:\ntimezone:\nunmatched:\nlookups:\nscenarios:'));
  expect(validate.errors).toBeNull();
  expect(validate(parse('rules:\nsinks: {}'))).toBe(false);
});

test('the schema accepts a reference in place of any value', () => {
  validate(
    parse(
      'rules: []\nsinks: {}\nreceiver: { port: "${PORT}", maxBody: "${MAX:-1kb}" }\nlog: { level: "${LEVEL}" }',
    ),
  );
  expect(validate.errors).toBeNull();
});
