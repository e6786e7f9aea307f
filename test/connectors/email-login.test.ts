import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { email } from '../../connectors/email/index.ts';
import type { Mail } from '../../connectors/email/message.ts';
import type { Sink } from '../../src/connector.ts';
import { SmtpSandbox } from '../../sandbox/smtp.ts';
import type { SmtpSandboxOptions } from '../../sandbox/smtp.ts';
import { fields, from, request } from './email-fixtures.ts';
import { serve, tunnels } from './raw-server.ts';

const user = 'hiring@example.com';
const { signal } = new AbortController();

beforeEach(() => void vi.stubEnv('no_proxy', '*'));
afterEach(() => void vi.unstubAllEnvs());

async function start(options: SmtpSandboxOptions): Promise<SmtpSandbox> {
  const sandbox = await new SmtpSandbox(options).start();
  onTestFinished(() => sandbox.close());
  return sandbox;
}

async function connected(options: object): Promise<Sink<Mail>> {
  const sink = await email.connect(email.options.parse({ from, ...options }));
  onTestFinished(() => sink.close());
  return sink;
}

/** A token endpoint that gives out `token-1`, `token-2` and so on, or answers as told. */
async function tokenEndpoint(answer?: { status: number; body: string; headers?: object }) {
  const asked: string[] = [];
  const { url } = await serve(async (incoming, response) => {
    asked.push(await text(incoming));
    const granted = { access_token: `token-${asked.length}`, token_type: 'Bearer', expires_in: 3599 };
    const { status, body, headers = {} } = answer ?? { status: 200, body: JSON.stringify(granted) };
    response.writeHead(status, { ...headers }).end(body);
  });
  return { asked, tokenUrl: `${url}/oauth2/v2.0/token` };
}

const client = { clientId: 'app', clientSecret: 'app-secret' };

/** A sink, its mail server, and the server that gives out its tokens. */
async function withTokens(
  isValid: (token: string) => boolean,
  like: 'Google' | 'Microsoft' = 'Microsoft',
  over: object = {},
  ofSink: object = {},
) {
  const sandbox = await start({ oauth2: { user, isValid, like } });
  const endpoint = await tokenEndpoint();
  const oauth2 = { tokenUrl: endpoint.tokenUrl, ...client, ...over };
  const sink = await connected({ url: sandbox.url(), auth: { user, oauth2 }, ...ofSink });
  return { sandbox, endpoint, sink };
}

describe('access tokens', () => {
  test('log the sink in, and one serves all its mails', async () => {
    const scope = 'https://outlook.office365.com/.default';
    const { sandbox, endpoint, sink } = await withTokens((token) => token === 'token-1', 'Microsoft', {
      scope,
    });
    expect(await sink.deliver(request(fields))).toMatchObject({ outcome: 'delivered' });
    expect(await sink.deliver(request(fields))).toMatchObject({ outcome: 'delivered' });
    expect(sandbox.mails).toMatchObject([{ user }, { user }]);
    expect(endpoint.asked.map((form) => Object.fromEntries(new URLSearchParams(form)))).toEqual([
      { grant_type: 'client_credentials', scope, client_id: 'app', client_secret: 'app-secret' },
    ]);
  });

  test('come by a refresh token, for the user in the url', async () => {
    const sandbox = await start({ oauth2: { user, isValid: () => true, like: 'Google' } });
    const { asked, tokenUrl } = await tokenEndpoint();
    const url = `smtp://${encodeURIComponent(user)}@localhost:${sandbox.port}`;
    const sink = await connected({ url, auth: { oauth2: { tokenUrl, ...client, refreshToken: 'r-1' } } });
    expect(await sink.deliver(request(fields))).toMatchObject({ outcome: 'delivered' });
    expect(asked[0]).toContain('grant_type=refresh_token&refresh_token=r-1');
  });

  test.for(['Google', 'Microsoft'] as const)('that %s refuses are forgotten', async (like) => {
    const { endpoint, sink } = await withTokens((token) => token === 'token-2', like);
    const refused = await sink.deliver(request(fields));
    expect(refused).toMatchObject({
      outcome: 'retry',
      reason: 'auth',
      sinkWide: true,
      detail: expect.stringMatching(/answered: 535.*access token/),
    });
    expect(JSON.stringify(refused)).not.toContain('token-1');
    expect(await sink.deliver(request(fields))).toMatchObject({ outcome: 'delivered' });
    expect(endpoint.asked).toHaveLength(2);
  });

  // simonrob/email-oauth2-proxy#193, thunderbird/thunderbird-android#7597: Microsoft says so of passwords and of tokens.
  test.for(['a password', 'a token'])('and %s need Authenticated SMTP at Microsoft', async (by) => {
    const { sandbox, sink } = await withTokens(() => true);
    const login = by === 'a token' ? sink : await connected({ url: sandbox.url(user, 'a-password') });
    sandbox.faults.only = ['AUTH'];
    const body = '5.7.139 Authentication unsuccessful, SmtpClientAuthentication is disabled for the Tenant.';
    sandbox.faults.once({ kind: 'status', status: 535, body });
    const detail = expect.stringMatching(/Authenticated SMTP.*access tokens/);
    expect(await login.deliver(request(fields))).toMatchObject({ reason: 'auth', sinkWide: true, detail });
  });

  // Exchange of one's own, where it offers NTLM alone.
  test('are not told to be wrong where the server knows no such login', async () => {
    const { sandbox } = await withTokens(() => true);
    const login = await connected({ url: sandbox.url(user, 'a-password') });
    sandbox.faults.only = ['AUTH'];
    sandbox.faults.once({ kind: 'status', status: 504, body: '5.7.4 Unrecognized authentication type' });
    const detail = expect.stringMatching(/type\. The server has none of the logins that the connector knows/);
    expect(await login.deliver(request(fields))).toMatchObject({ reason: 'auth', sinkWide: true, detail });
  });

  test('are shown by no reply of the server', async () => {
    const { sandbox, sink } = await withTokens(() => true);
    sandbox.faults.only = ['MAIL'];
    const sent = Buffer.from(`user=${user}\x01auth=Bearer token-1\x01\x01`).toString('base64');
    sandbox.faults.once({ kind: 'status', status: 550, body: `not with token-1 or ${sent}` });
    const outcome = await sink.deliver(request(fields));
    expect(outcome).toMatchObject({ detail: expect.stringContaining('not with *** or ***') });
  });

  const answers = [
    [
      { status: 401, body: '{"error":"invalid_client","error_description":"AADSTS7000222: expired"}' },
      /invalid_client.*AADSTS7000222.*a secret may have expired/,
    ],
    [
      { status: 400, body: '{"error":"invalid_grant"}' },
      /invalid_grant\. The application may not act for itself there: have that allowed/,
    ],
    [{ status: 200, body: '<html><title>Sign in</title></html>' }, /answered without a token/],
    [{ status: 302, body: '', headers: { location: '/login' } }, /redirects are not followed/],
    [{ status: 200, body: 'x'.repeat(2_000_000) }, /Something other than the token endpoint/i],
    [{ status: 503, body: '' }, /answered 503/],
  ] as const;

  test.for(answers)('that are not given hold all mails back and say why (%#)', async ([answer, words]) => {
    const sandbox = await start({ oauth2: { user, isValid: () => true, like: 'Microsoft' } });
    const { tokenUrl } = await tokenEndpoint(answer);
    const sink = await connected({ url: sandbox.url(), auth: { user, oauth2: { tokenUrl, ...client } } });
    const detail = expect.stringMatching(words);
    expect(await sink.deliver(request(fields))).toMatchObject({ outcome: 'retry', sinkWide: true, detail });
    expect(await sink.check([], signal)).toMatchObject([{ ok: false, what: 'access token', detail }]);
    expect(sandbox.connections).toBe(0);
  });

  test('from a server that hangs end with the time of the attempt', async () => {
    const sandbox = await start({ oauth2: { user, isValid: () => true, like: 'Microsoft' } });
    const controller = new AbortController();
    const { url } = await serve(() => controller.abort());
    const oauth2 = { tokenUrl: url, ...client };
    const sink = await connected({ url: sandbox.url(), auth: { user, oauth2 } });
    expect(await sink.deliver(request(fields, null, { signal: controller.signal }))).toMatchObject({
      outcome: 'retry',
      reason: 'timeout',
      sinkWide: true,
      detail: expect.stringContaining('token endpoint'),
    });
  });

  test('from a server that is down, or hangs up, hold all mails back and name it', async () => {
    const sandbox = await start({ oauth2: { user, isValid: () => true, like: 'Microsoft' } });
    const { url } = await serve(({ socket }) => socket.destroy());
    for (const tokenUrl of ['http://127.0.0.1:1/token', `${url}/token`]) {
      const sink = await connected({ url: sandbox.url(), auth: { user, oauth2: { tokenUrl, ...client } } });
      expect(await sink.deliver(request(fields))).toMatchObject({
        outcome: 'retry',
        reason: 'network',
        sinkWide: true,
        detail: expect.stringContaining(`The token endpoint ${new URL(tokenUrl).host}`),
      });
    }
    expect(sandbox.connections).toBe(0);
  });

  test.for([200, 407])('come through the proxy of the environment, which answers %d', async (status) => {
    const proxy = await tunnels(status);
    vi.stubEnv('http_proxy', proxy.url);
    vi.stubEnv('no_proxy', '');
    const { sink, endpoint } = await withTokens(() => true);
    const expected = {
      200: { outcome: 'delivered' },
      407: { outcome: 'retry', sinkWide: true, detail: expect.stringContaining(`the proxy ${proxy.host}`) },
    };
    expect(await sink.deliver(request(fields))).toMatchObject(expected[status as 200]);
    expect(proxy.asked).toEqual([expect.stringContaining(new URL(endpoint.tokenUrl).host)]);
  });

  test('come through the proxy of the sink, and mail never does: the live check says so', async () => {
    const proxy = await tunnels();
    const { sandbox, sink, endpoint } = await withTokens(() => true, 'Microsoft', {}, { proxy: proxy.url });
    const [token] = await sink.check([], signal);
    expect(token).toMatchObject({
      ok: true,
      what: 'access token',
      detail: expect.stringContaining(proxy.host),
    });
    expect(token?.detail).toContain('mail itself goes past it');
    expect(token?.detail).not.toContain('s3cret');
    expect(await sink.deliver(request(fields))).toMatchObject({ outcome: 'delivered' });
    expect(proxy.asked).toEqual([expect.stringContaining(new URL(endpoint.tokenUrl).host)]);
    expect(sandbox.mails).toHaveLength(1);
  });

  test('come past the proxy of the environment where the sink says so', async () => {
    const proxy = await tunnels();
    vi.stubEnv('http_proxy', proxy.url);
    vi.stubEnv('no_proxy', '');
    const { sink } = await withTokens(() => true, 'Microsoft', {}, { proxy: 'none' });
    expect(await sink.deliver(request(fields))).toMatchObject({ outcome: 'delivered' });
    expect(proxy.asked).toEqual([]);
  });

  test('are checked with the login', async () => {
    const { sink, endpoint } = await withTokens((token) => token === 'token-1');
    expect(await sink.check([], signal)).toMatchObject([
      { ok: true, what: 'access token' },
      { ok: true, what: 'mail server answers' },
      { ok: true, what: 'login accepted', detail: expect.stringContaining(user) },
      { ok: true, what: `may send from ${user}` },
    ]);
    expect(endpoint.asked).toHaveLength(1);
    const refusing = await withTokens(() => false, 'Google');
    expect(await refusing.sink.check([], signal)).toMatchObject([
      { ok: true, what: 'access token' },
      { ok: true, what: 'mail server answers' },
      { ok: false, what: 'login accepted', advice: expect.stringContaining('auth.user') },
    ]);
  });
});

describe('a password', () => {
  test('that the server takes from nobody any more names the way out', async () => {
    const sandbox = await start({ oauth2: { user, isValid: () => true, like: 'Microsoft' } });
    const sink = await connected({ url: sandbox.url(user, 'a-password') });
    const detail = expect.stringMatching(/550 5\.7\.30.*auth\.oauth2/);
    expect(await sink.deliver(request(fields))).toMatchObject({ reason: 'auth', sinkWide: true, detail });
  });

  // learn.microsoft.com, "Authenticated SMTP submission"; knowledge.workspace.google.com, "Gmail SMTP errors and codes".
  test.for([
    [535, '5.7.139 Authentication unsuccessful, basic authentication is disabled.'],
    [534, '5.7.9 Application-specific password required.'],
    [535, '5.7.8 Username and Password not accepted.'],
    [535, '5.7.3 Authentication unsuccessful'],
  ] as const)('refused by %d %s may be replaced by OAuth 2.0', async ([status, body]) => {
    const sandbox = await start({ login: { user: 'u', password: 'right' } });
    sandbox.faults.only = ['AUTH'];
    sandbox.faults.once({ kind: 'status', status, body });
    const detail = expect.stringContaining('auth.oauth2');
    const sink = await connected({ url: sandbox.url() });
    expect(await sink.deliver(request(fields))).toMatchObject({ reason: 'auth', sinkWide: true, detail });
  });
});

// Microsoft says the first of a wrong password, and where it takes none; Brevo the second of a machine it does not know; go-smtp the third.
test.for([
  [
    535,
    '5.7.139 Authentication unsuccessful, the user credentials were incorrect.',
    /Check the user and password.*auth\.oauth2/,
  ],
  [525, '5.7.1 Unauthorized IP address', /no login from this machine/],
  [454, '4.7.0 no such user', /Check the user and password/],
  // Postfix with Dovecot. Advice about Google's app passwords would mislead.
  [535, '5.7.8 Error: authentication failed: authentication failure', /^(?!.*app password).*Check the user/],
] as const)('a password refused by %d %s has the right advice', async ([status, body, words]) => {
  const sandbox = await start({ login: { user: 'u', password: 'right' } });
  sandbox.faults.only = ['AUTH'];
  sandbox.faults.once({ kind: 'status', status, body });
  const sink = await connected({ url: sandbox.url() });
  const detail = expect.stringMatching(words);
  expect(await sink.deliver(request(fields))).toMatchObject({ reason: 'auth', sinkWide: true, detail });
});

// "Gmail SMTP errors and codes", as above. A mailbox of Google's takes no password of the account.
test.for([
  [534, '5.7.9 Application-specific password required.'],
  [535, '5.7.8 Username and Password not accepted. For more information, go to'],
] as const)('a password refused by %d %s has to be an app password', async ([status, body]) => {
  const sandbox = await start({ login: { user: 'u', password: 'right' } });
  sandbox.faults.only = ['AUTH'];
  sandbox.faults.once({ kind: 'status', status, body });
  const detail = expect.stringMatching(/an app password.*myaccount\.google\.com\/apppasswords/);
  const sink = await connected({ url: sandbox.url() });
  expect(await sink.deliver(request(fields))).toMatchObject({ reason: 'auth', sinkWide: true, detail });
});

describe('the login', () => {
  const oauth2 = { tokenUrl: 'https://login.example.com/token', clientId: 'app' };

  test.for([
    [{ url: 'smtp://mail.example.com', auth: { oauth2 } }, 'auth', 'auth.user'],
    [{ url: 'smtp://hiring@mail.example.com' }, 'url', 'belong together'],
    [{ url: 'smtp://:hunter22@mail.example.com', auth: { oauth2 } }, 'url', 'belong together'],
    [{ url: 'smtp://hiring:hunter22@mail.example.com', auth: { oauth2 } }, 'url', 'password'],
    [{ url: 'smtp://hiring@mail.example.com', auth: { user, oauth2 } }, 'auth', 'once'],
    [{ url: 'smtp://mail.example.com', auth: { user } }, 'auth', ''],
    [{ url: 'smtp://mail.example.com', auth: { user: 'a\u0001b', oauth2 } }, 'auth', ''],
    [{ url: 'smtp://mail.example.com', proxy: 'http://proxy.example.com:3128' }, 'proxy', 'mail never goes'],
  ] as const)('is refused where it is not clear: %j', ([options, key, message]) => {
    const { error } = email.options.safeParse({ from, ...options });
    expect(error?.issues).toMatchObject([{ message: expect.stringContaining(message) }]);
    expect(error?.issues[0]?.path[0]).toBe(key);
    expect(error?.message).not.toContain('hunter22');
  });

  test('by access tokens wants encryption, too, on another machine', async () => {
    const { tokenUrl } = await tokenEndpoint();
    const auth = { user, oauth2: { tokenUrl, ...client } };
    const sandbox = await start({ oauth2: { user, isValid: () => true, like: 'Microsoft' } });
    const sink = await connected({ url: sandbox.url(), auth, requireTls: true });
    const detail = expect.stringContaining('STARTTLS');
    expect(await sink.deliver(request(fields))).toMatchObject({ sinkWide: true, detail });
  });
});
