import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { text as textOf } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { serve } from '../connectors/raw-server.ts';
import { selfSigned } from '../../sandbox/certificate.ts';
import { theProgram } from '../fixtures/program.ts';
import { base, run, serving, stack, workplace } from './tools.ts';

beforeEach(() => void vi.stubEnv('no_proxy', '*'));
afterEach(() => void vi.unstubAllEnvs());

/** Runs `check` on a config with these sinks and the actions of one rule. */
async function check(sinks: object, actions: readonly object[], ...flags: readonly string[]) {
  const { folder, write } = await workplace();
  const rules = [{ name: 'all', when: {}, then: actions }];
  const text = `${base(folder)}\nsinks: ${JSON.stringify(sinks)}\nrules: ${JSON.stringify(rules)}\n`;
  const { code, out, err } = await run(['check', ...flags, '--config', await write('config.yaml', text)]);
  expect({ err, out }).toEqual({ err: '', out: expect.not.stringMatching(stack) });
  return { code, lines: out.split('\n').filter((line) => /✗|error/.test(line)), out };
}

const key = (over: object) => JSON.stringify({ client_email: 'a@b.example', private_key: 'SECRET', ...over });

describe('check reads the file of Google credentials, and says where it', () => {
  const row = { sink: 'sheet', tab: 'Results', row: { A: 'b' } };
  const checkSheet = (credentials: string) =>
    check({ sheet: { connector: 'google-sheets', spreadsheetId: 'abc', credentials } }, [row]);

  const files: readonly [string, string | null, RegExp][] = [
    ['is missing', null, /the file that it names cannot be read \(ENOENT\)/],
    ['is no JSON', key({}).slice(0, -1), /it is no valid JSON/],
    ['is empty', '', /it is no valid JSON/],
    ['is a list', '[]', /it is no JSON object/],
    ['is of an unknown type', key({ type: 'gdch_service_account' }), /its type gdch_service_account is not/],
    ['is of a person', key({ type: 'authorized_user' }), /its type authorized_user is not supported/],
    ['lacks the key', '{"client_email":"a@b.example"}', /it lacks private_key/],
    ['has a key that is none', key({}), /its private_key is no PEM key of RSA/],
    ['lacks what federation needs', '{"type":"external_account"}', /it lacks audience, subject_token_type/],
  ];

  test.for(files)('%s', async ([, content, words]) => {
    const { folder, write } = await workplace();
    const file = content === null ? join(folder, 'none.json') : await write('key.json', content);
    const { code, lines, out } = await checkSheet(file);
    expect({ code, lines }).toEqual({ code: 1, lines: [expect.stringMatching(words), '1 error'] });
    // The place is that of the option.
    expect(lines[0]).toMatch(/config\.yaml:\d+:\d+: error: The credentials cannot be used: /);
    expect(out).toMatch(/\n {2}\d+ \| sinks:.*\n +\^/);
    expect(out).not.toContain('SECRET');
  });

  test('is missing: by adc', async () => {
    vi.stubEnv('GOOGLE_APPLICATION_CREDENTIALS', '/nowhere/none.json');
    expect(await checkSheet('adc')).toMatchObject({
      code: 1,
      lines: [expect.stringMatching(/ENOENT/), '1 error'],
    });
  });

  test('is a folder, or may not be read', async () => {
    const { folder, write } = await workplace();
    expect((await checkSheet(folder)).lines[0]).toContain('EISDIR');
    const file = await write('key.json', key({}));
    await chmod(file, 0);
    const isRoot = process.getuid?.() === 0;
    expect((await checkSheet(file)).lines[0]).toContain(isRoot ? 'PEM key' : 'EACCES');
  });
});

describe('check says of the file of an authority that it', () => {
  const { cert, key: privateKey } = selfSigned();
  const cut = cert.slice(0, cert.length / 2);

  test.for<[string, string | null, RegExp]>([
    ['is missing', null, /none\.pem cannot be read: there is no such file/],
    ['is empty', '', /ca\.pem is empty/],
    ['is no certificate', 'hello', /expected the PEM text of a certificate, which .*ca\.pem\} does not give/],
    ['is a private key', privateKey, /expected the PEM text of a certificate/],
    ['is cut short', cut, /expected the PEM text of a certificate/],
    ['has a second one that is cut short', cert + cut, /expected the PEM text of a certificate/],
  ])('%s', async ([, content, words]) => {
    const { folder, write } = await workplace();
    const file = content === null ? join(folder, 'none.pem') : await write('ca.pem', content);
    const ats = { connector: 'webhook', url: 'https://ats.example.com', ca: `\${file:${file}}` };
    const { code, lines, out } = await check({ ats }, [{ sink: 'ats' }]);
    expect({ code, lines }).toEqual({ code: 1, lines: [expect.stringMatching(words), '1 error'] });
    expect(out).not.toContain(privateKey.split('\n')[1]);
  });

  test('is a folder', async () => {
    const { folder } = await workplace();
    const ats = { connector: 'webhook', url: 'https://ats.example.com', ca: `\${file:${folder}}` };
    const { lines } = await check({ ats }, [{ sink: 'ats' }]);
    expect(lines).toEqual([expect.stringMatching(/cannot be read: it is a folder/), '1 error']);
  });
});

test('check --live says that an OAuth 2.0 secret has expired, and does not show it', async () => {
  // As Microsoft answers: learn.microsoft.com/en-us/entra/identity-platform/reference-error-codes, AADSTS7000222.
  const { url } = await serve((_, response) => {
    const error_description =
      "AADSTS7000222: The provided client secret keys for app 'app' are expired. Visit the Azure portal to create new keys.";
    response.writeHead(401).end(JSON.stringify({ error: 'invalid_client', error_description }));
  });
  const oauth2 = { tokenUrl: `${url}/token`, clientId: 'app', clientSecret: 'an-expired-secret' };
  const ats = { connector: 'webhook', url, allowPrivate: true, auth: { oauth2 } };
  const { code, lines, out } = await check({ ats }, [{ sink: 'ats' }], '--live');
  const said = /✗ access token: The token endpoint .*invalid_client .*AADSTS7000222.*may have expired/;
  expect({ code, lines }).toEqual({ code: 1, lines: [expect.stringMatching(said)] });
  expect(out).not.toContain('an-expired-secret');
});

test('with --live it uses up no refresh token that it cannot keep the next one of', async () => {
  let asked = 0;
  const { url } = await serve((_request, response) => {
    asked += 1;
    response.end(JSON.stringify({ access_token: 'access', refresh_token: 'next' }));
  });
  const auth = { oauth2: { tokenUrl: url, clientId: 'app', refreshToken: 'given-refresh-token' } };
  const ats = { connector: 'webhook', url, allowPrivate: true, auth };
  const { code, out } = await check({ ats }, [{ sink: 'ats' }], '--live');
  expect({ code, asked }).toEqual({ code: 0, asked: 0 });
  expect(out).toContain('nothing was asked');
});

test('with --live it keeps the refresh token that comes in place of the one that it used up, and uses none beside a connector on SQLite', async () => {
  let valid = 'given-refresh-token';
  const { url } = await serve(async (request, response) => {
    const given = new URLSearchParams(await textOf(request)).get('refresh_token');
    if (given !== null && given !== valid) response.statusCode = 400;
    else if (given !== null) valid += '-and-on';
    response.end(JSON.stringify({ access_token: 'access', refresh_token: valid }));
  });
  const { folder, write } = await workplace();
  const auth = { oauth2: { tokenUrl: url, clientId: 'app', refreshToken: valid } };
  const sinks = { ats: { connector: 'webhook', url, allowPrivate: true, auth } };
  const withKey = base(folder).replace('.db" }', '.db", secretKey: "${STORE_KEY}" }');
  const file = await write('config.yaml', `${withKey}\nsinks: ${JSON.stringify(sinks)}\nrules: []\n`);
  const env = { ...process.env, STORE_KEY: randomBytes(32).toString('base64') };
  for (const used of ['given-refresh-token-and-on', 'given-refresh-token-and-on-and-on']) {
    // In a process of its own: in this one, it is known anyway.
    await promisify(execFile)(process.execPath, [await theProgram(), 'check', '--live', '--config', file], {
      env,
    });
    expect(valid).toBe(used);
  }
  await serving(file, env);
  const asksNothing = async () => {
    const { code, out } = await run(['check', '--live', '--config', file], env);
    expect({ code, out }).toEqual({ code: 0, out: expect.stringContaining('nothing was asked') });
  };
  await asksNothing();
  // As before an update: the connector is of an older version.
  using store = new DatabaseSync(`${folder}/connector.db`);
  store.exec('pragma user_version = 1');
  await asksNothing();
  expect(valid).toBe('given-refresh-token-and-on-and-on');
});
