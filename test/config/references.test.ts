import { describe, expect, test } from 'vitest';
import { connectors } from '../../connectors/index.ts';
import { parseConfig } from '../../src/config/load.ts';
import { interpolate, interpolateText, partsOf, Values } from '../../src/config/text/references.ts';
import { type Json, noFacts } from '../../src/model.ts';
import { load, problems, warnings } from './tools.ts';

const files: Record<string, string> = {
  '/run/token': 'from-file\n',
  '/run/two': 'a\nb\r\n',
  '/run/windows': '\uFEFFfrom-file\r\n',
};
const env = { NAME: 'value', EMPTY: '', DOLLAR: '${NAME}' };

function give(value: Json): Json {
  const values = new Values({ env, readFile: (path) => files[path] ?? '' });
  return interpolate(value, (reference) => {
    const resolved = values.resolve(reference);
    return 'value' in resolved ? resolved.value : `<${resolved.missing}>`;
  });
}

describe('a reference gives', () => {
  test.each([
    ['${NAME}', 'value'],
    ['a ${NAME} b ${NAME}', 'a value b value'],
    ['${NAME:-other}', 'value'],
    ['${EMPTY:-other}', 'other'],
    ['${UNSET:-a default: with {everything}', 'a default: with {everything'],
    ['a${UNSET:-}b', 'ab'],
    ['${constructor:-other}', 'other'],
    ['${file:/run/token}', 'from-file'],
    ['${file:/run/two}', 'a\nb'],
    ['${file:/run/windows}', 'from-file'],
    ['$${NAME}', '${NAME}'],
    ['$$${NAME}', '$${NAME}'],
    ['costs $5 {NAME}', 'costs $5 {NAME}'],
  ])('%j: %j', (text, expected) => {
    expect(give(text)).toBe(expected);
  });

  test('its value as it is, also where that looks like a reference', () => {
    expect(give('${DOLLAR}')).toBe('${NAME}');
  });

  test('values deep inside of lists and maps', () => {
    expect(give({ a: ['${NAME}', { b: '${NAME}' }], c: 1, d: null })).toEqual({
      a: ['value', { b: 'value' }],
      c: 1,
      d: null,
    });
  });

  test('nothing at all where it may be empty and is: the key counts as not given', () => {
    expect(give({ a: '${EMPTY:-}', b: '', c: 'x${EMPTY:-}' })).toEqual({ b: '', c: 'x' });
  });
});

test('the parts of a string know where they stand', () => {
  const text = 'a $${ ${B} c';
  expect(partsOf(text).map(({ index, length }) => text.slice(index, index + length))).toEqual([
    'a ',
    '$${',
    ' ',
    '${B}',
    ' c',
  ]);
});

test('a string without references is left alone', () => {
  expect(interpolateText('a $ b', () => 'never')).toBe('a $ b');
});

describe('where a number or true/false is expected', () => {
  test('a reference gives one, quoted or not', () => {
    const config = load('receiver: { port: "${PORT}" }\nadmin:\n  port: ${ADMIN_PORT:-99}', { PORT: '80' });
    expect(config.receiver.port).toBe(80);
    expect(config.admin.port).toBe(99);
  });

  test('and text stays text where text is expected', () => {
    expect(load('receiver: { token: "${DIGITS}" }', { DIGITS: '12345' }).receiver.token[0]?.reveal()).toBe(
      '12345',
    );
  });

  test('in a rule as well', () => {
    const { plan } = load(
      'rules: [ { name: a, when: { testId: "${ID}" }, then: [ { sink: page, text: x } ] } ]',
      { ID: '7' },
    );
    const event = { candidateId: 'c', candidateNumericalId: null, status: 'Completed' } as const;
    expect(plan.rules.match({ event: { ...event, testId: 7 }, test: {}, facts: noFacts })).toEqual([0]);
    expect(plan.rules.match({ event: { ...event, testId: 8 }, test: {}, facts: noFacts })).toEqual([]);
  });
});

test('several senders and proxies fit into one variable', () => {
  const { receiver } = load('receiver: { allowFrom: "${SENDERS}", trustProxy: "${PROXIES}" }', {
    SENDERS: '10.0.0.1, 192.168.0.0/16',
    PROXIES: '1',
  });
  expect(receiver.allowFrom).toEqual(['10.0.0.1', '192.168.0.0/16']);
  expect(receiver.trustProxy).toBe(1);
});

test('a missing variable is one problem, at its place in the string, and the value is not judged further', () => {
  expect(problems('store:\n  url: "sqlite:${HOST}/x"\nreceiver:\n  port: ${PRT}\n')).toEqual([
    '2:16 the environment variable HOST is not set; set it, as in `export HOST=…`, or write ${HOST:-} if it may be unset',
    '4:9 the environment variable PRT is not set; set it, as in `export PRT=…`, or write ${PRT:-} if it may be unset',
  ]);
});

test.each([
  ['secret-1234\r', 'ends with a space or a line break, which counts as a part of it'],
  [' secret-1234', 'begins with a space or a line break, which counts as a part of it'],
  ['"secret-1234"', 'stands in quotes, which count as a part of it'],
  ["'secret-1234'", 'stands in quotes, which count as a part of it'],
  ['“secret-1234”', 'stands in quotes, which count as a part of it'],
  ['\u202Asecret-1234', 'has an invisible character (U+202A) in it'],
  ['secret-1234\u200B', 'has an invisible character (U+200B) in it'],
  ['secret\u00A01234', 'has a non-breaking space (U+00A0) in it'],
  ['secret-${OTHER}-1234', 'names another variable, which nothing replaces: write its value'],
  ['$OTHER_SECRET_1', 'names another variable, which nothing replaces: write its value'],
  ['%OTHER_SECRET_1%', 'names another variable, which nothing replaces: write its value'],
  ['secret-12345…', 'is a placeholder: write what it stands for'],
  ['<your token>', 'is a placeholder: write what it stands for'],
  ['secret-1234 # of the bot', 'has a comment behind it, which counts as a part of it'],
  ['<hiring@example.com>', null],
  ['secret "1234" #1', null],
  ['Words\n# and a heading', null],
  ['{\n "private_key": "-----BEGIN PRIVATE KEY-----" }\n\n', null],
  ['Authority # 1\n-----BEGIN CERTIFICATE-----\n\n', null],
])('a value from a file of another system is told: %j', (value, what) => {
  const text = (reference: string) => `receiver: { token: "x\${${reference}}" }`;
  const told = (name: string) => (what === null ? [] : [`1:22 the value of ${name} ${what}`]);
  expect(warnings(text('TOKEN'), { TOKEN: value })).toEqual(told('TOKEN'));
  expect(warnings(text('file:/run/x'), {}, { '/run/x': value })).toEqual(told('the file /run/x'));
});

test('a token that no call can carry is told, as with a dash of a word processor in it', () => {
  const sink = (token: string) =>
    `sinks: { ats: { connector: webhook, url: 'https://a.example', auth: { bearer: ${token} } } }\nrules: []\n`;
  const options = { env: { TOKEN: 'secret–1234' }, connectors };
  const told = (text: string) =>
    parseConfig(text, 'config.yaml', options).warnings.map(({ message }) => message);
  expect(told(sink("'${TOKEN}'"))).toContain('the value of TOKEN has “–” (U+2013) in it, which no token has');
  expect(told(sink("'secret–1234'"))).toContain('“–” (U+2013) is in this, which no token has');
  expect(told(sink("'secret-1234'")).join()).not.toContain('no token has');
});

test('a non-breaking space in what people read is typography, and in a channel it is told', () => {
  const text = `sinks:
  slack: { connector: slack, token: '\${TOKEN}' }
  mail: { connector: email, url: smtp://localhost, from: '\${FROM}' }
rules:
  - { name: a, when: {}, then: [{ sink: slack, channel: '\${CHANNEL}', text: '\${TEXT}' }] }
`;
  const [FROM, TEXT] = ['«\u00A0Équipe\u00A0» <hr@example.com>', 'Résultat\u00A0: {{ test.name }}\u202F!'];
  const values = { TOKEN: 'xoxb-1', FROM, TEXT, CHANNEL: '#a\u00A0b' };
  const { warnings: told } = parseConfig(text, 'config.yaml', { env: values, connectors });
  expect(told.filter(({ message }) => message.includes('space'))).toMatchObject([
    { line: 5, message: 'the value of CHANNEL has a non-breaking space (U+00A0) in it' },
  ]);
});

test('a file that is no UTF-8, as `>` of PowerShell writes it, is told', () => {
  const utf16 = Buffer.from('\uFEFFsecret-1234\r\n', 'utf16le').toString('utf8');
  expect(warnings('receiver: { token: "${file:/run/x}" }', {}, { '/run/x': utf16 })).toEqual([
    '1:21 the value of the file /run/x is not UTF-8 text; save it as UTF-8',
  ]);
});
