import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { connectors } from '../../connectors/index.ts';
import { parseConfig } from '../../src/config/load.ts';
import { editableText, hiddenMark, withMarksOf } from '../../src/config/secrets/editable.ts';
import { Source } from '../../src/config/text/problems.ts';
import { failure, load, problems } from './tools.ts';
import { runs } from '../fixtures/runs.ts';

/** A credential of two words, so that it can be written over two lines. */
const credential = fc.tuple(
  fc.stringMatching(/^[A-Z][a-z0-9+/]{7,19}$/),
  fc.stringMatching(/^[A-Z][a-z0-9+/=]{7,19}$/),
);

/** Ways to write the credential under a key that is indented by four. */
const styles: Record<string, (one: string, two: string) => string> = {
  'a literal block': (one, two) => `|\n      ${one}\n      ${two}`,
  'a literal block with an indentation of its own': (one, two) => `|2-\n        ${one}\n      ${two}`,
  'a literal block with a comment': (one, two) => `|+ # why\n      ${one}\n\n      # ${two}\n`,
  'a folded block': (one, two) => `>-\n      ${one}\n      ${two}`,
  'a block with Windows line ends': (one, two) => `|\r\n      ${one}\r\n      ${two}\r`,
  'double quotes over two lines': (one, two) => `"${one}\n      ${two}"`,
  'double quotes with an escaped line break': (one, two) => `"${one}\\\n      ${two}"`,
  'double quotes with an escape': (one, two) => `"${one}\\n${two}\\u0041"`,
  'single quotes over two lines': (one, two) => `'${one}\n\n      ${two}'`,
  'plain text over two lines': (one, two) => `${one}\n      ${two}`,
  'a tag and an anchor': (one, two) => `&the !!str |\n      ${one}\n      ${two}`,
  'a list of blocks': (one, two) => `\n      - |\n        ${one}\n      - >\n        ${two}`,
  'a list in brackets over two lines': (one, two) => `[ ${one},\n      "${two}" ]`,
  'what a variable has otherwise': (one, two) => `"\${NOT_SET:-${one}} ${two}"`,
  'braces that are no template': (one, two) => `"{{ ${one} ${two} }}"`,
  'text around a template': (one, two) => `|\n      ${one} {{ event.id }}\n      ${two}`,
};

const shown = (text: string, mask = (one: string): string => one): string =>
  new Source(text).shown(mask).join('\n');

describe('a credential is hidden in the lines of a config', () => {
  test.each(Object.entries(styles))('%s', (_, write) => {
    fc.assert(
      fc.property(credential, ([one, two]) => {
        const written = write(one, two);
        for (const text of [
          `sinks:\n  ats:\n    key: ${written}\n    loud: visible\n`,
          `sinks:\n  ats:\n    token: ${written}\n    loud: visible\n`,
          `sinks:\n  ats:\n    headers:\n      X-Custom: ${written.replaceAll('\n', '\n  ')}\n    loud: visible\n`,
          // Written elsewhere, and used as a credential by an alias.
          `parts:\n  some:\n    other: &it ${written.replace('&the ', '')}\nsinks: { ats: { token: *it, loud: visible } }\n`,
        ]) {
          const lines = shown(text);
          expect(lines).not.toContain(one);
          expect(lines).not.toContain(two);
          expect(lines).toContain('visible');
          expect(lines.split('\n').map(({ length }) => length)).toEqual(
            text.split('\n').map((line) => line.replace(/\r$/, '').length),
          );
          // To edit, it is the same config with marks for them.
          const source = new Source(text);
          const editable = editableText(source, (part) => part)!;
          const edited = JSON.stringify(new Source(editable.text).parsed.tree?.value);
          expect(edited).toContain('visible');
          for (const hidden of [one, two]) expect(editable.text).not.toContain(hidden);
          expect(JSON.stringify(withMarksOf(editable, source.parsed.tree!.value))).toBe(edited);
        }
      }),
      runs(20),
    );
  });

  test('and to edit, a hidden comment is one still', () => {
    const editable = editableText(new Source('token: ${T} # of **all**\nname: "**" # x'), (part) => part);
    expect(editable?.text).toBe('token: ${T} # ••hidden••\nname: "**" # x');
  });

  test('and its mark in a page is no value for the file', () => {
    expect(problems(`sinks: { page: { connector: pager, token: ${hiddenMark} } }`)).toEqual([
      '1:43 this is what the page Rules shows in place of a secret; write the value itself, or ${NAME}',
    ]);
  });

  test.each([
    'catalog: { 1: { note: "-----BEGIN PRIVATE KEY-----\\nhunter2" } }',
    'password: { value: hunter2, more: [ { x: hunter2 } ] }',
    'catalog: { 1: { note: xoxb-12345678-hunter2 } }',
    'xoxb-12345678-hunter2: from the first character on',
    'rules: [ { note: "curl -H Authorization: Bearer hunter2-hunter2-hunter2" } ]',
    'sinks: { ats: { headers: "X-Key: hunter2" } }',
    'sinks: { ats: { url: "https://hunter2Winter:@h.example" } }',
    'url: https://a.example # hunter2-Winter-hunter2-Winter',
    'token: { hunter2 }',
    'sinks: { mail: { url: "smtp://me:abcd hunter2 efgh@smtp.example.com:587" } }',
    "url: smtp://me:it's-hunter2@smtp.example.com:587",
    'url: smtp:me:hunter2Winter@smtp.example.com:587',
    'sinks: { ats: { url: "https:/hooks.example.com/services/T1/hunter2Winter" } }',
    'sinks: { ats: { url: hooks.example.com/services/T1/hunter2Winter } }',
    'rules: [ { note: "see (chat.example.com/api/webhooks/12/hunter2Winter)" } ]',
    'sinks: { ats: { url: https://hooks.example.com/serv ices/T1/hunter2Winter } }',
    "sinks: { ats: { url: https://hooks.example.com/hunter2'Winter2 } }",
    'sinks: { ats: { url: "${HOOK:-https://hooks.example.com/services/T1/hunter2Winter}" } }',
    'sinks: { ats: { url: "${HOST:-https://hooks.example.com}/services/T1/hunter2Winter" } }',
    'sinks: { ats: { url: "${HOST}/services/T1/hunter2Winter" } }',
    'sinks: { ats: { url: "https://${HOST}/services/T1/hunter2Winter" } }',
    'sinks: { ats: { url: "${HOST:-https://hooks.example.com}\\\n  /services/T1/hunter2\\\n  Winter" } }',
    'rules: [ { note: "see (https://hooks.example.com/services/T1/hunter2Winter)" } ]',
    'rules: [ { then: [ { body: "token=hunter2&x=1" } ] } ]',
    'rules: [ { then: [ { path: "/api/Hired?code=hunter2-Winter-hunter2&x=1" } ] } ]',
    `rules: [ { then: [ { body: '{"routing_key": "hunter2"}' } ] } ]`,
    'rules: [ { then: [ { body: "<a><password>hunter2</password></a>" } ] } ]',
    'rules: [ { then: [ { body: "<token type=\'a\'>hunter2</token>" } ] } ]',
    'rules: [ { then: [ { body: "{\\"routing_key\\": \\"hunter2\\"}" } ] } ]',
  ])('wherever it is known by its look, or by a key above it: %s', (text) => {
    expect(shown(text)).not.toContain('hunter2');
  });

  test.each([
    'smtp://me:a@B/c9@mail.example.com:587',
    'smtp://me@example.com:a/b@B/c9@mail.example.com:587',
    'smtp://me@example.com:ab/c9@mail.example.com:587',
    'smtp://me@example.com:abcd efgh c9cd c9gh@mail.example.com:587',
    'https://me:a/b@B/c9@ats.example.com/in',
    'postgres://me:p@ss/c9@db/x',
  ])('up to the last @ of a URL, where its password has @ and / as they are: %s', (url) => {
    for (const text of [`sinks: { a: { url: ${url} } }`, `sinks: { a: { url: x${url} } }`])
      expect(shown(text)).not.toContain('c9');
  });

  test('but not paths with an @ in them', () => {
    const text = [
      'one: { url: https://ats.example.com/@hiring }',
      'two: { url: "https://ats.example.com/in?mail=dana@example.com" }',
      'three: { url: postgres://connector@db:5432/cc }',
    ].join('\n');
    expect(shown(text)).toBe(text);
  });

  test('but not the column that is the key of an action, and no word for what is not known', () => {
    const action = '{ sink: sheet, key: Id, body: { key: hunter2 } }';
    const text = [
      'catalog: { 1: { key: hunter2 } }',
      `rules: [{ when: { candidate.passed: [unknown, absent] }, then: [${action}] }]`,
      `unmatched: [${action}]`,
      `scenarios: [{ expect: [${action}] }]`,
      'path: /jobs?code=BACKEND2026',
    ].join('\n');
    expect(shown(text)).toBe(text.replaceAll('hunter2', '*******'));
  });

  test('but not what names a login that several share, so that such a config can be edited', () => {
    const text = [
      'one: { auth: &login { username: "${U}", password: "${P}" } }',
      'two: { auth: *login }',
      'three:\n  token: &shared ${T}',
      'four:\n  token: *shared',
    ].join('\n');
    expect(shown(text)).toBe(text);
    expect(editableText(new Source(text), (part) => part)?.text).toBe(text);
    // Without the other of the two it may be a password.
    expect(shown('password: &hunter2 hunter2')).not.toContain('hunter2');
    expect(shown('{ password: *hunter2, x: { auth: &login {} } }')).not.toMatch(/hunter2|login/);
  });

  test.each([
    'auth: "Basic hunter2-Winter"',
    "headers: 'Authorization: Bearer hunter2-Winter-hunter2'",
    'auth: { oauth2: hunter2-Winter }',
    'auth: { basic: "dana:hunter2-Winter" }',
    'auth: { bearer: [ hunter2-Winter ] }',
    // Cut amid the credential in the message.
    'proxy: hooks.example.com/services/T1/twelve-letters-before/hunter2Winter-hunter2Winter',
  ])('and quoted in no message: %s', (option) => {
    const text = `sinks: { ats: { connector: webhook, url: 'https://ats.example.com/in', ${option} } }\nrules: []`;
    const { message } = failure(() => parseConfig(text, 'config.yaml', { env: {}, connectors }));
    expect(message).toContain('expected');
    expect(message).not.toContain('hunter2');
  });

  test('in comments, and what is known as a secret from elsewhere', () => {
    const text = [
      '# said: visible',
      '# token: |',
      '#   first-line',
      '#   second-line',
      'catalog: { 1: { note: "known\\u002dsecret" } }',
      'token: "${X}" # was the-old-one',
      'url: "https://hooks.example.com/\\',
      '  aBcDeFgHiJkL12"',
    ].join('\n');
    const lines = shown(text, (one) => one.replaceAll('known-secret', '***'));
    expect(lines).not.toMatch(/first|second-|known|old|aBcD/);
    expect(lines).toContain('said: visible');
  });

  test('of short words with any blanks between them, in what a message quotes, too', () => {
    for (const words of ['xk qz', 'xk  qz']) {
      const text = `sinks:\n  hook: { connector: webhook, url: "https://a.example", headers: "${words}" }\n`;
      const { message } = failure(() => parseConfig(text, 'config.yaml', { env: {}, connectors }));
      expect(message).toContain('expected a map, got "***"');
    }
  });

  test('of a text that cannot be parsed, by showing no line of it', () => {
    for (const text of [
      'sinks:\n  ats:\n    key: |\nMIIEvQIBADANBgkqhkiG\nrules: []\n',
      'sinks: { ats: { token: "MIIEvQIBADANBgkqhkiG\nrules: []\n',
      'sinks: { ats: { name: @MII, token: MIIEvQIBADANBgkqhkiG } }\n',
    ]) {
      const { message } = failure(() => load(text));
      expect(message).toMatch(/^config\.yaml:\d+:\d+: error: .+\n\n/);
      expect(message).not.toContain('MII');
      expect(shown(text)).toBe('');
    }
  });
});

test('the rest stays readable', () => {
  const config = {
    catalog: { 1: { author: 'Dana', passMark: 60 } },
    sinks: { keycloak: { url: 'https://ats.example.com/in', token: '${ATS_TOKEN}' } },
    rules: [{ then: [{ row: { Key: 'the key' }, text: 'A note\non two lines, https://example.com/a?b=c' }] }],
  };
  const text = stringify(config);
  expect(shown(text)).toBe(text);
});
