import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { connectors } from '../../connectors/index.ts';
import { type AnyConnector, proxyFor, type Sink } from '../../src/connector.ts';
import { attemptAt, eventDataWith } from '../fixtures/event.ts';
import { SmtpSandbox } from '../../sandbox/smtp.ts';
import { startSheets } from '../../sandbox/sheets.ts';
import { startSlack } from '../../sandbox/slack.ts';
import { answerOk, serve } from './raw-server.ts';

beforeEach(() => void vi.stubEnv('no_proxy', '*'));
afterEach(() => void vi.unstubAllEnvs());

/** What a sink of each connector needs to reach a tool that works, what it sends there, and how often it was called. */
const tools: {
  readonly [connector: string]: () => Promise<{
    readonly options: object;
    readonly fields: object;
    readonly called: () => number;
  }>;
} = {
  slack: async () => {
    const sandbox = await startSlack();
    onTestFinished(() => sandbox.close());
    const options = { token: sandbox.token, apiUrl: sandbox.url };
    return { options, fields: { channel: '#hiring', text: 't' }, called: () => sandbox.calls.length };
  },
  'google-sheets': async () => {
    const sandbox = await startSheets();
    onTestFinished(() => sandbox.close());
    const { spreadsheetId, credentials, url: apiUrl } = sandbox;
    const fields = { tab: 'Results', row: { A: 'b' } };
    return { options: { spreadsheetId, credentials, apiUrl }, fields, called: () => sandbox.calls.length };
  },
  email: async () => {
    const user = 'hiring@example.com';
    const sandbox = await new SmtpSandbox({
      oauth2: { user, isValid: () => true, like: 'Microsoft' },
    }).start();
    onTestFinished(() => sandbox.close());
    let asked = 0;
    const { url: tokenUrl } = await serve((_, response) => {
      asked += 1;
      response.end(JSON.stringify({ access_token: 't' }));
    });
    const auth = { user, oauth2: { tokenUrl, clientId: 'app', clientSecret: 'app-secret' } };
    const fields = { to: 'dana@example.com', subject: 's', text: 't' };
    return {
      options: { url: sandbox.url(), from: user, auth },
      fields,
      called: () => asked + sandbox.connections,
    };
  },
  webhook: async () => {
    let called = 0;
    const { url } = await serve((incoming, response) => {
      called += 1;
      answerOk(incoming, response);
    });
    return { options: { url, allowPrivate: true }, fields: {}, called: () => called };
  },
};

/** A proxy that does with a connection what it is told to. */
async function proxyThat(act: (socket: Socket) => void) {
  const open: Socket[] = [];
  const server = createServer((socket) => {
    open.push(socket.on('error', () => {}));
    act(socket);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const answer = (text: string) => (socket: Socket) =>
  void socket.once('data', () => socket.end(`HTTP/1.1 ${text}\r\ncontent-length: 0\r\n\r\n`));

const faults: readonly [string, (socket: Socket) => void, RegExp][] = [
  [
    'wants another login',
    answer('407 Proxy Authentication Required'),
    /refused it with status 407; check the login in its URL/,
  ],
  ['forbids it', answer('403 Forbidden'), /refused it with status 403/],
  ['cannot reach the tool', answer('502 Bad Gateway'), /refused it with status 502/],
  ['redirects', answer('302 Found\r\nlocation: http://login.example/'), /refused it with status 302/],
  ['hangs up', (socket) => void socket.once('data', () => socket.end()), /opened no connection/],
  ['hangs up at once', (socket) => socket.destroy(), /opened no connection|through the proxy/],
  [
    'is none',
    (socket) => void socket.once('data', () => socket.end('SSH-2.0-OpenSSH_9.6\r\n')),
    /opened no connection/,
  ],
  [
    'is none that speaks TLS',
    (socket) => void socket.once('data', () => socket.end('\x15\x03\x01\x00\x02\x02\x46')),
    /opened no connection/,
  ],
];

describe.for([...connectors.values()])('where $name goes through a proxy that', (connector: AnyConnector) => {
  async function connected(proxy: string) {
    const tool = await tools[connector.name]!();
    const options = connector.options.parse({ ...tool.options, proxy });
    const sink: Sink<unknown> = await connector.connect(options);
    onTestFinished(() => sink.close());
    const subject = { kind: 'event', event: eventDataWith() } as const;
    const fields = connector.action.parse(tool.fields);
    const attempt = attemptAt(connector.compose(fields, { deliveryId: 'd1', subject }, options));
    return { ...tool, sink, attempt };
  }

  test.for(faults)('%s, nothing is sent, and the sink waits and names it', async ([, act, words]) => {
    const host = await proxyThat(act);
    const { sink, attempt, called } = await connected(`http://ann:s3cret@${host}`);
    const outcome = await sink.deliver(attempt);
    expect(outcome).toMatchObject({ outcome: 'retry', sinkWide: true, detail: expect.stringMatching(words) });
    expect(JSON.stringify(outcome)).toContain(host);
    expect(JSON.stringify(outcome)).not.toContain('s3cret');
    expect(called()).toBe(0);
    const checks = await sink.check([attempt.message], new AbortController().signal);
    expect(checks.filter(({ ok }) => !ok)).not.toEqual([]);
    expect(JSON.stringify(checks)).toContain(host);
  });

  test('is down, nothing is sent, and the sink waits and names it', async () => {
    const { sink, attempt, called } = await connected('http://127.0.0.1:1');
    const detail = expect.stringMatching(
      /nothing listens there \(ECONNREFUSED\), through the proxy 127\.0\.0\.1:1/,
    );
    expect(await sink.deliver(attempt)).toMatchObject({ outcome: 'retry', sinkWide: true, detail });
    expect(called()).toBe(0);
  });

  test('never answers, nothing is sent, and the attempt ends in time', async () => {
    const controller = new AbortController();
    const host = await proxyThat((socket) => void socket.once('data', () => controller.abort()));
    const { sink, attempt, called } = await connected(`http://${host}`);
    const outcome = await sink.deliver({ ...attempt, signal: controller.signal });
    expect(outcome).toMatchObject({ outcome: expect.stringMatching(/retry|unknown/), reason: 'timeout' });
    expect(called()).toBe(0);
  });
});

/** As these variables say it, and no others. */
function proxyBy(url: string, variables: { readonly [name: string]: string }): string | null {
  for (const name of ['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY']) {
    vi.stubEnv(name, variables[name]);
    vi.stubEnv(name.toLowerCase(), undefined);
  }
  return proxyFor(url, undefined);
}

describe('the proxy of the environment', () => {
  test.for([
    ['http://proxy.example:3128', 'http://proxy.example:3128/'],
    ['proxy.example:3128', 'http://proxy.example:3128/'],
    ['proxy.example', 'http://proxy.example/'],
    ['https://ann:p%40ss@proxy.example', 'https://ann:p%40ss@proxy.example/'],
    ['http://ann:50%@proxy.example', 'http://ann:50%25@proxy.example/'],
  ] as const)('is found in %s', ([written, proxy]) => {
    expect(proxyBy('https://a.example', { HTTPS_PROXY: written })).toBe(proxy);
    expect(proxyBy('http://a.example', { HTTPS_PROXY: written })).toBeNull();
  });

  test.for(['socks5://ann:s3cret@proxy.example', 'http://', 'no proxy:s3cret'])(
    'is named where it is none, without its password: %s',
    (written) => {
      const found = () => proxyBy('https://a.example', { HTTPS_PROXY: written });
      expect(found).toThrow(/^HTTPS_PROXY is not the URL of a proxy, such as/);
      expect(found).not.toThrow(/s3cret/);
    },
  );

  test.for([
    ['https://a.example', 'A.Example'],
    ['https://x.a.example', '.a.example'],
    ['https://x.a.example', '*.a.example'],
    ['https://a.example', 'a.example.'],
    ['https://x.a.example', 'other.example  a.example:443'],
    ['https://10.1.2.3', '10.0.0.0/8'],
    ['https://10.1.2.3', '10.1.2.3'],
    ['https://[::1]:8443', '::1'],
    ['https://[::1]:8443', '[::1]'],
    ['https://[::1]:8443', '[::1]:8443'],
    ['https://[fd00::7]', 'fd00::/8'],
  ] as const)('is not for %s with NO_PROXY %s', ([url, except]) => {
    expect(proxyBy(url, { HTTPS_PROXY: 'http://p', NO_PROXY: except })).toBeNull();
  });

  test.for([
    ['https://ba.example', 'a.example'],
    ['https://a.example', 'a.example:80'],
    ['https://a.example', '10.0.0.0/99'],
    ['https://11.1.2.3', '10.0.0.0/8'],
    ['https://[::2]', '::1'],
    ['https://10.example', '10.0.0.0/8'],
    ['https://a.example', ',,'],
  ] as const)('is for %s in spite of NO_PROXY %s', ([url, except]) => {
    expect(proxyBy(url, { HTTPS_PROXY: 'http://p', NO_PROXY: except })).toBe('http://p/');
  });
});
