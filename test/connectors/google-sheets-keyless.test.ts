import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { googleSheets } from '../../connectors/google-sheets/index.ts';
import {
  connect,
  reconnect,
  requestFor,
  sandbox,
  sink,
  withSheets,
  written,
} from './google-sheets-fixtures.ts';
import { elsewhere, endlessJson, serve, tunnels } from './raw-server.ts';

withSheets();

beforeEach(() => {
  vi.stubEnv('no_proxy', '*');
  vi.stubEnv('CLOUDSDK_CONFIG', '/nowhere');
  vi.stubEnv('GOOGLE_APPLICATION_CREDENTIALS', '');
});
afterEach(() => void vi.unstubAllEnvs());

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'google-'));
  onTestFinished(() => rmSync(path, { recursive: true }));
  return path;
}

const isWritten = { outcome: 'delivered' };
const account = 'sheets@x.iam.gserviceaccount.com';

/** Files of workload identity federation and of an impersonation, all of whose addresses are the sandbox's. */
function keyless(subject = 'subject') {
  const { url } = sandbox;
  const file = join(folder(), 'subject');
  writeFileSync(file, subject);
  const source = {
    type: 'external_account',
    audience: '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/p',
    subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
    token_url: `${url}v1/token`,
    credential_source: { file } as object,
  };
  const target = {
    service_account_impersonation_url: `${url}v1/projects/-/serviceAccounts/${account}:generateAccessToken`,
  };
  return {
    federated: { ...source, ...target },
    impersonated: { type: 'impersonated_service_account', ...target, source_credentials: source },
  };
}

const kinds = ['federated', 'impersonated'] as const;

describe('without a key', () => {
  test.for(kinds)('rows are written: %s', async (kind) => {
    const warned = vi.spyOn(console, 'warn');
    await reconnect({ credentials: JSON.stringify(keyless()[kind]) });
    await written(requestFor());
    await written(requestFor());
    const signedIn = sandbox.calls.filter((call) => /sts|generateAccessToken|^token/.test(call));
    expect(signedIn).toEqual(['sts', 'generateAccessToken']);
    sandbox.tokens.revokeAll();
    expect(await sink.deliver(requestFor())).toMatchObject({ outcome: 'retry', reason: 'auth' });
    await written(requestFor());
    expect(warned).not.toHaveBeenCalled();
  });

  test.for(kinds)('many calls share one token: %s', async (kind) => {
    await reconnect({ credentials: JSON.stringify(keyless()[kind]) });
    await Promise.all([sink.check([], signal()), sink.check([], signal()), written(requestFor())]);
    expect(sandbox.calls.filter((call) => call === 'sts')).toHaveLength(1);
  });

  test.for(kinds)('a refusal says why, and shows no token: %s', async (kind) => {
    const credentials = JSON.stringify(keyless('a-very-secret-subject')[kind]);
    const outcome = await (await connect({ credentials })).deliver(requestFor());
    expect(outcome).toMatchObject({
      outcome: 'retry',
      reason: 'auth',
      sinkWide: true,
      detail: expect.stringMatching(/no access token for sheets@x.iam.*subject token \*\*\* is expired/),
    });
  });

  test.for(kinds)('all calls go through the proxy: %s', async (kind) => {
    const credentials = JSON.stringify(keyless()[kind]);
    const open = await tunnels();
    await written(requestFor(), await connect({ credentials, proxy: open.url }));
    sandbox.calls.length = 0;
    const closed = await tunnels(403);
    const detail = expect.stringContaining(`the proxy ${closed.host} refused it with status 403`);
    const outcome = await (await connect({ credentials, proxy: closed.url })).deliver(requestFor());
    expect(outcome).toMatchObject({ outcome: 'retry', sinkWide: true, detail });
    expect(sandbox.calls).toEqual([]);
  });

  test('the token to exchange may come from a URL', async () => {
    const { url } = await serve(({ headers }, response) =>
      response.end(JSON.stringify({ value: headers['x-a'] === 'b' ? 'subject' : 'none' })),
    );
    const format = { type: 'json', subject_token_field_name: 'value' };
    const { federated } = keyless();
    const credential_source = { url, headers: { 'x-a': 'b' }, format };
    const credentials = JSON.stringify({ ...federated, credential_source });
    expect(await (await connect({ credentials })).deliver(requestFor())).toMatchObject(isWritten);
  });

  test('the token to exchange may be of AWS', async () => {
    vi.stubEnv('AWS_REGION', 'eu-central-1');
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'AKIA1');
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret');
    const credentials = JSON.stringify({
      ...keyless().federated,
      subject_token_type: 'urn:ietf:params:aws:token-type:aws4_request',
      credential_source: {
        environment_id: 'aws1',
        regional_cred_verification_url:
          'https://sts.{region}.amazonaws.com?Action=GetCallerIdentity&Version=2011-06-15',
      },
    });
    expect(await (await connect({ credentials })).deliver(requestFor())).toMatchObject(isWritten);
  });

  test.for<[string, { file: string; format?: object }, RegExp]>([
    ['no file', { file: '/nowhere/subject' }, /The file at \/nowhere\/subject does not exist/],
    ['no JSON', { file: 'SECRET', format: { type: 'json', subject_token_field_name: 'a' } }, /no valid JSON/],
    ['no field', { file: '{}', format: { type: 'json', subject_token_field_name: 'a' } }, /subject_token/],
  ])('the token to exchange is missing: %s', async ([, { file, ...format }, words]) => {
    const path = join(folder(), 'subject');
    writeFileSync(path, file);
    const credential_source = { file: file.startsWith('/') ? file : path, ...format };
    const credentials = JSON.stringify({ ...keyless().federated, credential_source });
    const outcome = await (await connect({ credentials })).deliver(requestFor());
    const detail = expect.stringMatching(words);
    expect(outcome).toMatchObject({ outcome: 'retry', reason: 'auth', sinkWide: true, detail });
    expect(JSON.stringify(outcome)).not.toContain('SECRET');
    expect(sandbox.calls).toEqual([]);
  });
});

test('an access token is shown by no answer that quotes it', async () => {
  sandbox.faults.only = ['spreadsheets.get'];
  sandbox.faults.decide = () => {
    const message = `not with ${sandbox.tokens.given.at(-1)}`;
    return { kind: 'status', status: 403, body: { error: { code: 403, message } } };
  };
  const detail = expect.stringContaining('not with ***');
  expect(await sink.deliver(requestFor())).toMatchObject({ outcome: 'retry', reason: 'auth', detail });
});

const signal = () => new AbortController().signal;

describe.for([
  ['sts', 'federated'],
  ['generateAccessToken', 'federated'],
  ['token', 'key'],
  ['metadata', 'adc'],
] as const)('where %s is asked for a token and', ([call, kind]) => {
  async function faulty() {
    vi.stubEnv('GCE_METADATA_HOST', new URL(sandbox.url).host);
    const { federated } = keyless();
    const credentials = { federated: JSON.stringify(federated), key: sandbox.credentials, adc: 'adc' }[kind];
    sandbox.faults.only = [call];
    await reconnect({ credentials });
  }

  test.for([
    [
      { status: 200, body: '<html>Sign in</html>' },
      'auth',
      /HTTP status 200 and no token.*no token endpoint/,
    ],
    [{ status: 200, body: { access_token: 'a\nb' } }, 'auth', /HTTP status 200 and no token/],
    [{ status: 302, headers: { location: '/login' } }, 'auth', /HTTP status 302.*redirects are not followed/],
    [{ status: 404, body: '<html>' }, 'auth', /HTTP status 404/],
    [{ status: 503 }, 'server', /HTTP status 503/],
    [{ status: 429 }, 'rate_limited', /HTTP status 429/],
  ] as const)('answers %j, nothing is lost and it is said why', async ([answer, reason, words]) => {
    await faulty();
    sandbox.faults.decide = () => ({ kind: 'status', ...answer });
    const detail = expect.stringMatching(words);
    expect(await sink.deliver(requestFor())).toMatchObject({
      outcome: 'retry',
      reason,
      sinkWide: true,
      detail,
    });
    expect(sandbox.calls.filter((name) => name === call)).toHaveLength(1);
    const checks = await sink.check([requestFor().message], signal());
    expect(checks).toMatchObject([{ ok: false, what: 'sees the spreadsheet', detail }]);
    sandbox.faults.clear();
    await written(requestFor());
  });

  test('hangs, the attempt ends in time and names it', async () => {
    await faulty();
    const controller = new AbortController();
    sandbox.faults.decide = () => {
      setImmediate(() => controller.abort());
      return { kind: 'hang', commit: false };
    };
    const detail = expect.stringContaining(`${new URL(sandbox.url).host} had not answered`);
    const outcome = await sink.deliver(requestFor({}, { signal: controller.signal }));
    expect(outcome).toMatchObject({ outcome: 'retry', reason: 'timeout', sinkWide: true, detail });
    await sink.close();
  });

  test('hangs up, nothing is lost and it is said why', async () => {
    await faulty();
    sandbox.faults.decide = () => ({ kind: 'drop', commit: false });
    const words =
      kind === 'adc' ? 'no application default credentials' : 'asked for a token, and the connection';
    const detail = expect.stringContaining(words);
    expect(await sink.deliver(requestFor())).toMatchObject({ outcome: 'retry', sinkWide: true, detail });
    expect(sandbox.calls.filter((name) => name === call)).toHaveLength(1);
  });
});

test('a token endpoint whose answer has no end is left, and named', async () => {
  const { url } = await serve(endlessJson);
  const credentials = JSON.stringify({ ...keyless().federated, token_url: url });
  expect(await (await connect({ credentials })).deliver(requestFor())).toMatchObject({
    outcome: 'retry',
    reason: 'auth',
    sinkWide: true,
    detail: expect.stringContaining(`${new URL(url).host} answered with HTTP status 200 and no token`),
  });
});

describe('application default credentials', () => {
  test.for(kinds)('come from the file that the environment names: %s', async (kind) => {
    const file = join(folder(), 'credentials.json');
    writeFileSync(file, JSON.stringify(keyless()[kind]));
    vi.stubEnv('GOOGLE_APPLICATION_CREDENTIALS', file);
    expect(await (await connect({ credentials: 'adc' })).deliver(requestFor())).toMatchObject(isWritten);
  });

  test('come from what gcloud left on the machine', async () => {
    const path = folder();
    writeFileSync(join(path, 'application_default_credentials.json'), sandbox.credentials);
    vi.stubEnv('CLOUDSDK_CONFIG', path);
    expect(await (await connect({ credentials: 'adc' })).deliver(requestFor())).toMatchObject(isWritten);
  });

  test('are read anew where their file has others since, as after another login with gcloud', async () => {
    const file = join(folder(), 'credentials.json');
    const { federated, impersonated } = keyless();
    writeFileSync(file, JSON.stringify({ ...federated, credential_source: { file: '/nowhere' } }));
    vi.stubEnv('GOOGLE_APPLICATION_CREDENTIALS', file);
    await reconnect({ credentials: 'adc' });
    expect(await sink.deliver(requestFor())).toMatchObject({ outcome: 'retry', reason: 'auth' });
    writeFileSync(file, JSON.stringify(impersonated));
    expect(await sink.deliver(requestFor())).toMatchObject(isWritten);
  });

  test('are named as they are now where the spreadsheet is to be shared with them', async () => {
    const file = join(folder(), 'credentials.json');
    const another = { ...JSON.parse(sandbox.credentials), client_email: 'before@example.com' };
    writeFileSync(file, JSON.stringify(another));
    vi.stubEnv('GOOGLE_APPLICATION_CREDENTIALS', file);
    await reconnect({ credentials: 'adc' });
    writeFileSync(file, sandbox.credentials);
    sandbox.document.role = 'none';
    const detail = expect.stringContaining(
      'Share the spreadsheet with connector@sandbox.iam.gserviceaccount.com',
    );
    expect(await sink.deliver(requestFor())).toMatchObject({ outcome: 'retry', reason: 'auth', detail });
  });

  test('are those of the machine at Google, which is asked past every proxy', async () => {
    vi.stubEnv('GCE_METADATA_HOST', new URL(sandbox.url).host);
    const proxy = await tunnels(407);
    await reconnect({ credentials: 'adc', proxy: proxy.url });
    const detail = expect.stringContaining('407');
    expect(await sink.deliver(requestFor())).toMatchObject({ outcome: 'retry', detail });
    expect(sandbox.calls).toEqual(['metadata']);
    expect(await (await connect({ credentials: 'adc' })).deliver(requestFor())).toMatchObject(isWritten);
  });

  test('that are nowhere name the ways to have some', async () => {
    vi.stubEnv('GCE_METADATA_HOST', '127.0.0.1:1');
    const outcome = await (await connect({ credentials: 'adc' })).deliver(requestFor());
    const detail = expect.stringContaining('set GOOGLE_APPLICATION_CREDENTIALS');
    expect(outcome).toMatchObject({ outcome: 'retry', reason: 'auth', sinkWide: true, detail });
  });

  test('of a person who signed in with gcloud get tokens by the consent', async () => {
    const path = folder();
    const person = { type: 'authorized_user', client_id: 'c', client_secret: 's', refresh_token: 'r-1' };
    writeFileSync(join(path, 'application_default_credentials.json'), JSON.stringify(person));
    vi.stubEnv('CLOUDSDK_CONFIG', path);
    elsewhere('https://oauth2.googleapis.com')
      .post('/token', {
        grant_type: 'refresh_token',
        client_id: 'c',
        client_secret: 's',
        refresh_token: 'r-1',
      })
      .reply(400, { error: 'invalid_grant', error_description: 'Token r-1 has been expired or revoked.' });
    const outcome = await (await connect({ credentials: 'adc' })).deliver(requestFor());
    const detail = expect.stringMatching(/signed in with gcloud: invalid_grant: .*expired or revoked/);
    expect(outcome).toMatchObject({ outcome: 'retry', reason: 'auth', sinkWide: true, detail });
  });
});

test.for<[string, object, RegExp]>([
  [
    'no account to impersonate',
    { service_account_impersonation_url: undefined },
    /lacks service_account_imp/,
  ],
  ['no audience', { audience: undefined }, /it lacks audience/],
  ['a token_url that is none', { token_url: 'file:///etc/passwd' }, /its token_url is not as expected/],
  ['a command', { credential_source: { executable: { command: 'id' } } }, /runs no executable/],
  ['a certificate', { credential_source: { certificate: {} } }, /shows Google no certificate/],
  ['an audience of another kind', { audience: 7 }, /lacks audience/],
])('a file of federation with %s is refused when the sink connects', async ([, over, words]) => {
  const file = { ...keyless().federated, ...over };
  const options = googleSheets.options.parse({ spreadsheetId: 'x', credentials: JSON.stringify(file) });
  await expect(googleSheets.connect(options)).rejects.toThrow(words);
});
