import { describe, expect, test } from 'vitest';
import { connectors } from '../../connectors/index.ts';
import { parseConfig } from '../../src/config/load.ts';
import { masker } from '../../src/support/masker.ts';
import { maskedJson, maskTexts } from '../../src/support/secret.ts';
import { around, env, failure, load, pagers } from './tools.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const html = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('/', '&#x2F;').replaceAll("'", '&#039;');
const asUnicode = (text: string): string =>
  text.replaceAll(/[^\w ]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);

const quotedPrintable = (text: string): string =>
  [...Buffer.from(text)]
    .map((byte, at) => {
      const plain = byte >= 32 && byte < 127 && byte !== 61;
      const shown = plain ? String.fromCharCode(byte) : `=${byte.toString(16).toUpperCase()}`;
      return at === 5 ? `=\r\n${shown}` : shown;
    })
    .join('');

test('a message is masked as JSON as each of its texts is', () => {
  const long = 'sk_live_51H8-of-a-payment';
  const mask = masker([long, 'pass1', '4711', 'p"ss\\w0rd']);
  const texts = [
    `${long} first`,
    `last ${long}`,
    `cut off: ${long.slice(0, 20)}`,
    `${long.slice(0, 18)}…`,
    long.toUpperCase(),
    'p"ss\\w0rd',
    'p%22ss%5Cw0rd',
    '4711',
    'no. 47110',
    '\npass1',
    // Here a word begins only in the text itself: in JSON, an `n` stands before it.
    '\n=70ass1',
    'nothing',
  ];
  const values = [...texts, 4711, { pass1: 'nothing' }, { texts }];
  for (const value of values) expect(maskedJson(value, mask)).toBe(JSON.stringify(maskTexts(value, mask)));
  expect(maskedJson(values, mask)).toBe(JSON.stringify(maskTexts(values, mask)));
  expect(maskedJson('\n=70ass1', mask)).toBe(String.raw`"\n***"`);
});

describe('a secret is masked', () => {
  const secret = `p@ss+x "word"/é&'1`;
  const mask = masker([secret]);
  const json = JSON.stringify(secret).slice(1, -1);

  test.each([
    ['as it is', secret],
    ['in a URL', encodeURIComponent(secret)],
    ['in a URL, in small letters', encodeURIComponent(secret).toLowerCase()],
    ['in a form', encodeURIComponent(secret).replaceAll('%20', '+')],
    ['in a form that was read', secret.replaceAll('+', ' ')],
    ['in a URL in a URL', encodeURIComponent(encodeURIComponent(secret))],
    ['in JSON', json],
    ['in JSON in JSON', JSON.stringify(json).slice(1, -1)],
    ["in PHP's JSON", json.replaceAll('/', '\\/')],
    ['in JSON in ASCII', asUnicode(secret)],
    ['in HTML', html(secret)],
    ['in HTML in HTML', html(html(secret))],
    ['in JSON in HTML', html(json)],
    ['in JSON in JSON in HTML in HTML', html(html(JSON.stringify(json).slice(1, -1)))],
    ['in capitals', 'P@SS+X "WORD"/é&\'1'],
    ['in base64', base64(secret)],
    ['in base64url', Buffer.from(secret).toString('base64url')],
    ['in base64 in a URL', encodeURIComponent(base64(secret))],
    ["in base64 in PHP's JSON", base64(secret).replaceAll('/', '\\/')],
    ['in quoted-printable', quotedPrintable(secret)],
    ['in quoted-printable in JSON', JSON.stringify(quotedPrintable(secret)).slice(1, -1)],
  ])('%s', (_, text) => {
    expect(mask(`before ${text} after ${text}`)).toBe('before *** after ***');
  });

  test.each([
    ['first\n\n  second\n', 'first second'],
    ['first\n\n  second\n', 'first  second'],
    ['first\n\n  second\n', 'first   second'],
    ['first\n\n  second\n', 'first    second'],
    ['first\n\n  second\n', 'first%20%20second'],
    ['first\tsecond', 'first second'],
    ['first\nsecond', 'firstsecond'],
    ['first\nsecond', String.raw`first\u{a}second`],
    ['first\nsecond', 'first<br />second'],
    ['first\nsecond', 'first\n    second'],
    ['first   second', 'first second'],
    ['first+ second', 'first second'],
  ])('of several lines, %j, where it became one: %s', (lines, text) => {
    expect(masker([lines])(`/${text}/`)).toBe('/***/');
  });

  test.each(['x key: ***', 'x ***… y', 'x "***", y', 'x "***..." y', 'x candidates: [***'])(
    'cut off in a text: %s',
    (text) => {
      const key =
        '-----BEGIN KEY-----\nMIIEvAIBADANBgkqhkiG9w0BAQEFAASC\nBKYwggSiAgEAAoIBAQDc\n-----END KEY-----';
      const cut = key.slice(0, 42);
      for (const one of [cut, cut.replace('\n', ' '), cut.replace('\n', '\\n'), encodeURIComponent(cut)])
        expect(masker([key])(text.replace('***', one))).toBe(text);
    },
  );

  test.each([
    ['hiring@example.com, ops@example.com', 'to hiring@example.com.'],
    ['https://ats.example.com/hooks/in', 'asked https://ats.example.com'],
  ])('and not the beginning of %j alone, where a word of it ends there: %s', (one, text) => {
    expect(masker([one])(text)).toBe(text);
  });

  test.each(['\n', '\r\n', '\\n', '\\r\\n'])('in base64 in lines that end with %j', (end) => {
    const long = 'a-long-secret-of-some-fifty-characters-that-wraps'.repeat(3);
    const lines = base64(long)
      .match(/.{1,76}/g)!
      .join(end);
    expect(masker([long])(`head ${lines} tail`)).toBe('head *** tail');
  });

  test('whole, also where it begins with another one', () => {
    expect(masker(['abcd', 'abcdef'])('abcdef abcd')).toBe('*** ***');
    expect(masker(['ab-cd', 'cd-ef'])('ab-cd-ef')).toBe('***');
  });

  test('in what is escaped otherwise around it', () => {
    expect(mask(String.raw`\"key\":\"${json}\",\n100%&amp;&#9;`)).toBe(
      String.raw`\"key\":\"***\",\n100%&amp;&#9;`,
    );
  });

  test('unless it is so short that ordinary words would go with it', () => {
    expect(masker(['     '])('a     b')).toBe('a     b');
    expect(masker(['abc'])('abcabc')).toBe('abcabc');
    expect(masker(['test'])('{"testId":1,"latest":"a test"} Test')).toBe(
      '{"testId":1,"latest":"a ***"} Test',
    );
    expect(masker(['secretly'])('Secretly, secretly')).toBe('Secretly, ***');
  });

  test.each([['whsec_'], ['\\'], ['\\\\/'], ['%25'], ['%c3%'], ['&amp;'], ['&amp;&#']])(
    'of hundreds, in a text that is all %s',
    (text) => {
      const secrets = Array.from({ length: 200 }, (_, index) => `whsec_${index}${'x'.repeat(index % 40)}`);
      expect(masker(secrets)(text.repeat(10_000)).slice(0, 5)).toBe(text.repeat(5).slice(0, 5));
    },
  );

  test('in time linear to the backslashes of a text with several lines', () => {
    const text = masker(['some secret'])(`two\nlines${'\\'.repeat(200_000)}, some secret`);
    expect(text.slice(-7)).toBe('\\\\, ***');
  });
});

test('a secret of digits is masked when it is alone, not inside longer numbers', () => {
  const mask = masker(['1234']);
  expect(mask('pin 1234, pin=1234&x y1234z')).toBe('pin ***, pin=***&x y***z');
  expect(mask('{"ts":"1795251234.000100","testId":1234567}')).toBe(
    '{"ts":"1795251234.000100","testId":1234567}',
  );
});

test('the value of a switch is no secret, whatever its variable is called', () => {
  expect(masker(['true', 'false', 'null', 'none'])('{"final":false,"x":true,"y":null} none')).toBe(
    '{"final":false,"x":true,"y":null} none',
  );
});

test.each([
  ['Bearer 0a1b2c3d-4e5f', '0a1b2c3d-4e5f'],
  ['  token   0a1b2c3d-4e5f\n', '0a1b2c3d-4e5f'],
  ['Basic ZGFuYTpodW50ZXItdHdv', 'ZGFuYTpodW50ZXItdHdv'],
  ['Basic ZGFuYTpodW50ZXItdHdv', 'hunter-two'],
  // Many APIs take their key as the user, with no password or any.
  ['Basic OWY4ZTdkNmM1YjRhMzkyODo=', '9f8e7d6c5b4a3928'],
  ['Basic OWY4ZTdkNmM1YjRhMzkyODp1bnVzZWQ=', '9f8e7d6c5b4a3928'],
  ['whsec_YSBzZWNyZXQgdGhhdA==', 'YSBzZWNyZXQgdGhhdA'],
])('of %j, what stands behind the word that says its kind is a secret of its own', (secret, part) => {
  expect(masker([secret])(`no account has ${part}, dana`)).toBe('no account has ***, dana');
});

test('no word of a password that has several is masked by itself', () => {
  expect(masker(['correct horse', 'battery staple-12'])('a horse, a staple-12')).toBe('a horse, a staple-12');
});

test('the keys of a service account are secrets of their own', () => {
  const account = JSON.stringify({ client_email: 'robot@example.com', private_key: '-----BEGIN\nKEY-----' });
  const mask = masker([account]);
  expect(mask('key -----BEGIN\nKEY----- of robot@example.com')).toBe('key *** of robot@example.com');
  expect(mask(String.raw`{"private_key":"-----BEGIN\nKEY-----"}`)).toBe('{"private_key":"***"}');
});

describe('a config masks', () => {
  const config = load(
    `
receiver: { token: literal-receiver-token }
admin: { password: "\${ADMIN}" }
catalog: { 1: { name: "\${API_KEY}", owner: "\${OWNER}", team: "\${file:/run/team}" } }
sinks:
  page:
    connector: pager
    token: "\${PAGER_TOKEN}"
    url: "\${ADDRESS}"
    keys: [first-key-1, "\${file:/run/key}"]
`,
    {
      ADMIN: 'admin-password',
      API_KEY: 'api-key-1',
      OWNER: 'dana',
      ADDRESS: 'https://user:pass%2Fword@host/',
    },
    { '/run/team': 'team-from-file\n', '/run/key': 'key-from-file\n' },
  );

  test.each([
    'literal-receiver-token',
    'admin-password',
    'pager-token-1',
    'first-key-1',
    'key-from-file',
    'team-from-file',
    'api-key-1',
    'pass%2Fword',
    'pass/word',
  ])('%s', (secret) => {
    expect(config.mask(`x ${secret} y`)).toBe('x *** y');
  });

  test.each([
    ['ATS_PASS', 'pass-of-ats'],
    ['ATS_PWD', 'pwd-of-ats'],
    ['PARTNER_PIN', 'pin-of-ats'],
    ['CREDS', 'creds-of-ats'],
  ])('what ${%s} gives', (name, value) => {
    const text = `rules: [ { name: a, when: {}, then: [ { sink: page, text: "x \${${name}}" } ] } ]`;
    expect(load(text, { [name]: value }).mask(`x ${value} y`)).toBe('x *** y');
  });

  test.each([
    ['fields: { Password: "${X}" }', 'named-by-its-key'],
    ['fields: { token: [ "a ${X} b" ] }', 'in-a-list'],
  ])('what stands under a name of a secret: %s', (fields, value) => {
    const text = `catalog: { 1: { ${fields.replace('fields: {', '').replace(/}$/, '')} } }`;
    expect(load(text, { X: value }).mask(`x ${value} y`)).toBe('x *** y');
  });

  test.each([
    ['path: "/candidates?view=list&api_key=${X}&of={{ event.testId }}"', true],
    ['url: "https://ats.example.com/{{ event.candidateId }}?access_token=${X}"', true],
    [`body: '{ "id": 1, "accessToken": "\${X}" }'`, true],
    ["body: '<apiKey>${X}</apiKey>'", true],
    ["body: 'user=dana&token=${X}'", true],
    [`body: '{ "authorization": "Bearer \${X}" }'`, true],
    [`body: '<token type="a">key-\${X}</token>'`, true],
    ['path: "/in?api_key=v1.${X}"', true],
    [`path: "/in?api_key={{ '\${X}' | url_encode }}"`, true],
    [`body: '{ "token": {{ "\${X}" | json }} }'`, true],
    [`body: '{ "url": "https://ats.example.com/in?token=\${X}" }'`, true],
    ['path: "/in?next=https://ats.example.com/?token=${X}"', true],
    [`body: '{ "xml": "<token>\${X}</token>" }'`, true],
    [`body: '{ "authorName": "\${X}" }'`, false],
    [`body: '{ "token": "", "view": "\${X}" }'`, false],
    ["body: '<token></token>${X}'", false],
    ['path: "/in?api_key=&view=${X}"', false],
    ['text: "token=none ${X}"', false],
    [`body: '{ "key": "\${X}", "id": 1 }'`, false],
    ['path: "/candidates?view=${X}&api_key="', false],
    ['text: "Passed: ${X}"', false],
  ])('what stands behind a name of a secret in a text: %s', (field, isSecret) => {
    const text = `catalog: { 1: { ${field} } }`;
    expect(load(text, { X: 'of-a-variable' }).mask('x of-a-variable y')).toBe(
      isSecret ? 'x *** y' : 'x of-a-variable y',
    );
  });

  test.each([
    ['/services/T024BE7LD/B01/aBcDeFgHiJkL', ['T024BE7LD', 'aBcDeFgHiJkL']],
    ['/hooks/s3cr3t-segment/candidates', ['s3cr3t-segment']],
    ['/hooks?code=abcdef&view=list', []],
    ['/hooks?api_key=abcdef', ['abcdef']],
    ['/hooks/6fa459ea-ee8a-3ca4-894e-db77e160355e', ['6fa459ea-ee8a-3ca4-894e-db77e160355e']],
    ['/hooks/catch/12345678/bvqkory/', ['bvqkory']],
    ['/api/v2/candidate-status-2024/webhooks', []],
  ])('what nobody would call anything in a URL: %s', (path, secrets) => {
    const text = 'sinks: { page: { connector: pager, token: abcdefgh, url: "${ATS_URL}" } }';
    const given = load(text, { ATS_URL: `https://ats.example.com${path}` });
    const words = path.split(/[/?&=]/).filter((word) => word !== '');
    for (const word of words)
      expect(given.mask(`x ${word} y`)).toBe(secrets.includes(word) ? 'x *** y' : `x ${word} y`);
  });

  test('the end of a URL that is a secret as a whole', () => {
    const text = 'sinks: { page: { connector: pager, token: abcdefgh, url: "${file:/run/url}" } }';
    const given = load(text, {}, { '/run/url': 'https://hooks.example.com/in/hire-us-now' });
    expect(given.mask('no hook hire-us-now at hooks.example.com/in')).toBe(
      'no hook *** at hooks.example.com/in',
    );
  });

  test.each([
    ['headers: { Authorization: "Bearer xyz-literal" }', 'xyz-literal'],
    ['headers: { authorization: xyz-literal }', 'xyz-literal'],
    ['headers: { X-Api-Key: xyz-literal }', 'xyz-literal'],
    ...['kennwort', 'lozinka', 'contraseña', 'hasło', 'haslo', 'senha', 'wachtwoord'].map((word) => [
      `body: { ${word}: xyz-literal }`,
      'xyz-literal',
    ]),
    [`body: '{ "routing_key": "0a1b2c3d4e5f6a7b" }'`, '0a1b2c3d4e5f6a7b'],
    [
      'headers: { Content-Type: application/x-www-form-urlencoded }, body: "a=b&token=0a1b2c3d4e5f6a7b"',
      '0a1b2c3d4e5f6a7b',
    ],
    [`body: '{ "auth": { "password": "hunter two" } }'`, 'hunter two'],
    ['headers: { Content-Type: text/xml }, body: "<a><password>hunter-two</password></a>"', 'hunter-two'],
    [
      `headers: { Content-Type: text/xml }, body: "<s:apiKey type='a'>aB3dE5fG7hJ9</s:apiKey>"`,
      'aB3dE5fG7hJ9',
    ],
    ['path: "/candidates?api_key=xyz-literal"', 'xyz-literal'],
    ['path: "candidates?api_key=xyz-literal"', 'xyz-literal'],
    ['path: "{{ event.candidateId }}/stage?api_key=xyz-literal"', 'xyz-literal'],
    ['path: hooks/T024BE7LD1/in', 'T024BE7LD1'],
    ['body: { credentials: { id: 5, value: aB3dE5fG7hJ9 } }', 'aB3dE5fG7hJ9'],
    ['path: "/api/Hired?code=aNfUbywaBdiazr+LWqJW1I/xw7AGHw=="', 'aNfUbywaBdiazr+LWqJW1I/xw7AGHw=='], // Azure Functions
    ['path: /hooks/T024BE7LD1/in', 'T024BE7LD1'],
    ['path: /bot7123456789:AAHdqTcvCH1vGWJxfSeo/sendMessage', 'bot7123456789:AAHdqTcvCH1vGWJxfSeo'],
    ['path: /trigger/hired/with/key/dR3mXk2PqLs9VbTn', 'dR3mXk2PqLs9VbTn'],
    ['body: { token: xyz-literal }', 'xyz-literal'],
    ['headers: { Authorization: "Bearer aB3dE5fG7hJ9{{ event.testId }}" }', 'aB3dE5fG7hJ9'],
    ['path: "/in?api_key=aB3dE5fG7hJ9{{ event.testId }}"', 'aB3dE5fG7hJ9'],
    [`headers: { Authorization: "Basic {{ 'joe:aB3dE5fG7hJ9' | base64_encode }}" }`, 'joe:aB3dE5fG7hJ9'],
    ['body: { routing_key: 0a1b2c3d4e5f6a7b }', '0a1b2c3d4e5f6a7b'],
    ['path: /hooks/catch/12345678/3abc1de/', '3abc1de'],
    ['', 'https://h.example/hooks/aBcDeFgHiJkL12'],
    ['', 'https://h.example/hooks/catch/12345678/silent/3abc1de'],
    ['', 'https://h.example/api/Hired?code=aBcDeFgHiJkL12aBcDeFgHiJkL12'],
  ])('and warns of what is written into an action or the address of a hook: %s', (action, given) => {
    const value = given.replace(/^https:.*[/=]/, '');
    const [url, keys] = action === '' ? [given, ''] : ['https://h.example', `, ${action}`];
    const text = `sinks: { ats: { connector: webhook, url: "${url}" } }
rules: [ { name: a, when: {}, then: [ { sink: ats${keys} } ] } ]`;
    const { mask, warnings } = parseConfig(text, 'config.yaml', { env: {}, connectors });
    expect(mask(`x ${value} y`)).toBe('x *** y');
    const literal = warnings.filter(({ message }) => message.includes('is written in the file'));
    expect(literal).toHaveLength(1);
    expect(literal[0]?.excerpt).not.toContain(value);
  });

  test.each([
    ['path: "/services/T024BE7LD/B01/${X}"', 'aBcDeFgHiJkL', true],
    ['path: "/hooks/catch/12345678/${X}/"', 'bvqkory', true],
    ['path: "/trigger/hired/with/key/${X}"', 'dR3mXk2PqLs9VbTn', true],
    ['path: "/candidates/${X}/status"', 'spring-2024', false],
    ['path: "/hooks/${X}"', 'candidates', false],
    ['body: { team: "${X}" }', 'aBcDeFgHiJkL', false],
  ])('and masks what a variable gives in such a place: %s', (action, value, isSecret) => {
    const text = `sinks: { ats: { connector: webhook, url: "https://h.example" } }
rules: [ { name: a, when: {}, then: [ { sink: ats, ${action} } ] } ]`;
    const { mask, warnings } = parseConfig(text, 'config.yaml', { env: { X: value }, connectors });
    expect(mask(`x ${value} y`)).toBe(isSecret ? 'x *** y' : `x ${value} y`);
    expect(warnings.filter(({ message }) => message.includes('is written in the file'))).toEqual([]);
  });

  test.each([
    ['apiToken: two words', 'two words'],
    ['hook: /services/T024BE7LD1/aBcDeFgHiJkL12', 'aBcDeFgHiJkL12'],
    ['hook: "https://h.example/hooks/aBcDeFgHiJkL12"', 'aBcDeFgHiJkL12'],
    ['query: "?api_key=aB3dE5fG7hJ9xyz0"', 'aB3dE5fG7hJ9xyz0'],
  ])('and warns of what is written into the catalog: %s', (entry, value) => {
    const given = load(`catalog: { 1: { ${entry}, channel: '#hiring' } }`);
    expect(given.mask(`x ${value} y #hiring`)).toBe('x *** y #hiring');
    expect(given.warnings.map(({ message }) => message)).toEqual([
      expect.stringContaining('is written in the file'),
    ]);
  });

  test.each([
    'Webhook Engineer',
    'React Hooks with TypeScript, 2026',
    'Hooks / callbacks, Senior 2',
    'webhooks-team@example.com',
    '#webhooks-2026',
  ])('and not of the name of a test that is about hooks: %s', (name) => {
    const given = load(`catalog: { 1: { name: "${name}", channel: '#hiring' } }`);
    expect(given.mask(`x ${name} y`)).toBe(`x ${name} y`);
    expect(given.warnings).toEqual([]);
  });

  test('what is written into any header of an action and looks like a credential', () => {
    const text = `sinks: { ats: { connector: webhook, url: "https://h.example" } }
rules: [ { name: a, when: {}, then: [ { sink: ats, headers: { X-Tenant: aB3dE5fG7hJ9, X-From: hiring } } ] } ]`;
    const given = parseConfig(text, 'config.yaml', { env: {}, connectors });
    expect(given.mask('aB3dE5fG7hJ9 of hiring')).toBe('*** of hiring');
  });

  const inSink = (header: string) =>
    `sinks: { ats: { connector: webhook, url: "https://h.example", headers: { Authorization: "${header}" } } }\nrules: []`;
  const inAction = (header: string) => `sinks: { ats: { connector: webhook, url: "https://h.example" } }
rules: [ { name: a, when: {}, then: [ { sink: ats, headers: { Authorization: "${header}" } } ] } ]`;
  const login = 'ZGFuYTpodW50ZXItdHdv';

  test.each([
    ['Basic ZGFuYTpodW50ZXItdHdv', ''],
    ['Basic ${X}', login],
    ['${X}', `Basic ${login}`],
  ])('the password of a login that a header has: %s', (header, X) => {
    for (const text of [inSink(header), inAction(header)]) {
      const { mask, warnings } = parseConfig(text, 'config.yaml', { env: { X }, connectors });
      expect(mask('no account has hunter-two, dana')).toBe('no account has ***, dana');
      const literal = warnings.filter(({ message }) => message.includes('written'));
      expect(literal.map(({ message }) => message.split(' is ')[0])).toEqual(
        X === '' ? ['this credential'] : [],
      );
    }
  });

  test('no default stands in for a credential where it is empty', () => {
    const { warnings } = parseConfig(inAction('Bearer ${X:-}'), 'config.yaml', { env: {}, connectors });
    expect(warnings.filter(({ message }) => message.includes('default'))).toEqual([]);
  });

  test.each([inSink, inAction])(
    'a default that stands in for what a header has behind its scheme',
    (text) => {
      const written = text('Bearer ${X:-xyz-literal}');
      const { mask, warnings } = parseConfig(written, 'config.yaml', { env: {}, connectors });
      expect(mask('no xyz-literal')).toBe('no ***');
      expect(warnings.map(({ message }) => message)).toContain(
        'the variable is not set, and the default that is written here stands in for this credential',
      );
    },
  );

  test.each(['https://aB3dE5fG7hJ9:@h.example/v1', 'https://aB3dE5fG7hJ9:x@h.example/v1'])(
    'an API key that is the user of an address: %s',
    (url) => {
      const written = `sinks: { ats: { connector: webhook, url: "${url}" } }\nrules: []`;
      for (const text of [written, written.replace(url, '${ATS_URL}')])
        expect(
          parseConfig(text, 'config.yaml', { env: { ATS_URL: url }, connectors }).mask('aB3dE5fG7hJ9'),
        ).toBe('***');
    },
  );

  test('no word of an action that only looks like the name of a credential', () => {
    const text = `sinks: { ats: { connector: webhook, url: "https://h.example/api/v2/T024BE7LD1" } }
rules: [ { name: a, when: {}, then: [ { sink: ats, path: "?key={{ event.candidateId }}&code=BACKEND2026", body: { project: { key: HIRING }, author: Somebody2026, token: "{{ event.id }}", row: { Token: Somebody2026 } } } ] } ]`;
    const given = parseConfig(text, 'config.yaml', { env: {}, connectors });
    const words = 'HIRING Somebody2026 T024BE7LD1 BACKEND2026';
    expect(given.mask(words)).toBe(words);
    expect(given.warnings).toEqual([]);
  });

  test('nothing else', () => {
    expect(config.mask('dana user host pager')).toBe('dana user host pager');
  });

  test.each(['/run/account.json', './account.json', 'keys/account.json', 'my keys/account.json'])(
    'a credential that is given as the path of its file: %s',
    (path) => {
      const given = load(
        `sinks: { page: { connector: pager, token: ${path} } }`,
        {},
        { [path]: '{"private_key":"the-key-itself"}' },
      );
      expect(given.mask('the-key-itself')).toBe('***');
      expect(given.warnings).toEqual([]);
    },
  );
});

describe('a report of problems shows no credential', () => {
  test.each([
    ['sinks: { page: { connector: pager, token: "xoxb-literal", lout: 1 } }', 'xoxb-literal'],
    ['sinks: { page: { connector: pager, token: xoxb-literal, lout: 1 } }', 'xoxb-literal'],
    [
      'sinks: { page: { connector: pager, token: "${PAGER_TOKEN}", url: "https://u:hidden-pass@h", lout: 1 } }',
      'hidden-pass',
    ],
    [
      'sinks: { page: { connector: pager, url: "https://h.example/hooks/aBcDeFgHiJkL12", lout: 1 } }',
      'aBcDeFgHiJkL12',
    ],
    ['sinks: { page: { connector: pager, url: https://h.example/?token=literal, lout: 1 } }', 'literal'],
    ['admin: { password: hidden-pass, prt: 1 }', 'hidden-pass'],
    ['admin: { viewer: [hidden-pass] }', 'hidden-pass'],
    ['admin: { metrics: hidden-pass, prt: 1 }', 'hidden-pass'],
    ['admin: { password: [hidden-pass] }', 'hidden-pass'],
    ['admin: { password: *hidden-pass }', 'hidden-pass'],
    ['admin: { pasword: hidden-pass }', 'hidden-pass'],
    ['admin: { psword: hidden-pass }', 'hidden-pass'],
    ['admin: { viewr: hidden-pass }', 'hidden-pass'],
    ['admin: { users: { dana: hidden-pass } }', 'hidden-pass'],
    ['admin: { password: !hidden-pass too }', 'hidden-pass'],
    ['admin: { password: "$${hidden-pass}", prt: 1 }', 'hidden-pass'],
    ['sinks: { page: { connector: pager, auth: { basic: { user: hidden-pass } } } }', 'hidden-pass'],
    ['sinks: { page: { connector: pager, auth: { type: bearer, value: hidden-pass } } }', 'hidden-pass'],
    ['store: { url: "postgrescc:hiddenPass1@db.example.com/cc" }', 'hiddenPass1'],
    ['admin: { password "hidden-pass" }', 'hidden-pass'],
    ['admin: { password:"hidden-pass too" }', 'hidden-pass'],
    ['admin: { password:| "hidden-pass" }', 'hidden-pass'],
    ['admin:\n  password: ${hidden-pass', 'hidden-pass'],
    ['sinks: { page: { connector: pager, url: "smtp://me:hidden-pass.example.com:25" } }', 'hidden-pass'],
    ['admin: { password: "${hidden-pass-2A7b9c}" }', 'hidden-pass-2A7b9c'],
    ['admin: { password: "${hiddenpass2A7b9c}" }', 'hiddenpass2A7b9c'],
    ['admin: password=hidden-pass', 'hidden-pass'],
    ['store: { url: "host=db password=hidden-pass" }', 'hidden-pass'],
    ['sinks: { page: { xoxb-1234567890-hidden: pager } }', 'xoxb-1234567890-hidden'],
    // Without a colon, or with a comma that ends the password.
    ['admin: { password hidden-pass, prt: 1 }', 'hidden-pass'],
    ['admin:\n  password hidden-pass', 'hidden-pass'],
    ['sinks: { page: { connector: pager, token hidden-pass } }', 'hidden-pass'],
    ['sinks: { page: { connector: pager, token: left,hidden-pass, lout: 1 } }', 'hidden-pass'],
    ['sinks: { page: { connector: pager, token: left, over,hidden-pass, lout: 1 } }', 'hidden-pass'],
    ['admin: { viewer:hidden-pass, port: 1 }', 'hidden-pass'],
    ['admin: { viewer hidden-pass, port: 1 }', 'hidden-pass'],
    // With a sign that means a comment or an alias.
    ['admin:\n  viewer: #hidden-pass', 'hidden-pass'],
    ['admin:\n  viewer: *hidden-pass', 'hidden-pass'],
  ])('%j', (text, secret) => {
    const { message } = failure(() => load(text));
    expect(message).not.toContain(secret);
    expect(message).toContain('*'.repeat(secret.length));
  });

  test.each([
    ['a number as a token', 'sinks: { page: { connector: pager, token: 1234567890 } }', '1234567890'],
    ['a map whose key has no space behind it', 'admin:\n  password:|\n    hidden-pass', 'hidden-pass'],
    [
      'a map as a header',
      'sinks: { page: { connector: webhook, url: "https://h", headers: { X-Team: { value: hidden-pass } } } }',
      'hidden-pass',
    ],
    [
      'a mail server that is none',
      'sinks: { page: { connector: email, url: "http://u:hidden-pass@h", from: a@b.c } }',
      'hidden-pass',
    ],
    [
      'a proxy that is none',
      'sinks: { page: { connector: webhook, url: "https://h", proxy: "socks5://u:hidden-pass-of-more-than-sixty-characters-so-that-it-is-cut@h" } }',
      'hidden-pass',
    ],
  ])('nor what stands where one belongs: %s', (_, text, secret) => {
    const options = { env, connectors: new Map([...pagers, ...connectors]) };
    const { message } = failure(() => parseConfig(around(text), 'config.yaml', options));
    expect(message).toMatch(/expected/);
    expect(message).not.toContain(secret);
  });

  test('nor does a warning, of a password that ends for YAML at a number sign', () => {
    const { warnings } = load('admin:\n  host: 0.0.0.0\n  viewer: abc #hidden-pass');
    expect(warnings.map(({ excerpt }) => excerpt).join()).toMatch(/viewer: \*{3} \*{12}\n/);
  });

  test('nor what a variable holds', () => {
    const { message } = failure(() =>
      load('receiver: { port: "${PORT_TOKEN}" }', { PORT_TOKEN: 'not-a-number' }),
    );
    expect(message).not.toContain('not-a-number');
  });

  test('and a reference is shown as it is', () => {
    expect(failure(() => load('receiver: { token: "${file:/none}" }')).message).toContain(
      'token: "${file:/none}"',
    );
  });
});

test('a password in a URL is masked up to the last @, as its @ and / may not be encoded, and no path with an @', () => {
  const given = (url: string) =>
    load('sinks: { page: { connector: pager, token: abcdefgh, url: "${ATS_URL}" } }', { ATS_URL: url });
  for (const user of ['me', 'me@a.io'])
    expect(given(`https://${user}:a@B/c9@ats.example.com/in`).mask(`the login ${user}:a@B/c9@ats`)).toBe(
      `the login ${user}:***@ats`,
    );
  for (const url of ['https://ats.example.com:8443/@me', 'https://ats.example.com/in?mail=x@y'])
    expect(given(url).mask(url)).toBe(url);
});

test('a folder on the way to the store is no secret, however random its name looks', () => {
  const url = 'sqlite:/srv/candidate-connector-v8x2k1/connector.db';
  const { mask } = load("store: { url: '${STORE_URL}' }", { STORE_URL: url });
  const text = `candidate-connector check, ${url}`;
  expect(mask(text)).toBe(text);
});
