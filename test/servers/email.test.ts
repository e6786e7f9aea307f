import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { email } from '../../connectors/email/index.ts';
import { mailOf, request, fields, from } from '../connectors/email-fixtures.ts';
import { selfSigned } from '../../sandbox/certificate.ts';
import {
  login,
  mailPackages,
  maxBytes,
  remove,
  startExim,
  startPostfix,
  unpackDebian,
} from './mail-servers.ts';
import type { MailServer } from './mail-servers.ts';

const certificate = selfSigned();
const authorities = getCACertificates('default');
const { signal } = new AbortController();
let folder: string;

beforeAll(async () => {
  setDefaultCACertificates([...authorities, certificate.cert]);
  folder = await unpackDebian(mailPackages);
}, 300_000);

afterAll(async () => {
  setDefaultCACertificates(authorities);
  await remove(folder);
});

describe.each([
  ['Postfix', startPostfix],
  ['Exim', startExim],
] as const)('%s', (_, start) => {
  let server: MailServer;
  beforeAll(async () => {
    server = await start(folder, certificate);
  });
  afterAll(() => server.stop());

  async function connected({ user = '', password = '', port = server.port, ...over } = {}) {
    const who = user === '' ? '' : `${user}:${password}@`;
    const sink = await email.connect(
      email.options.parse({
        url: `smtp://${who}localhost:${port}`,
        from,
        name: 'connector.example.com',
        ...over,
      }),
    );
    onTestFinished(() => sink.close());
    return sink;
  }

  const loggedIn = () => connected({ ...login, port: server.loginPort, requireTls: true } as never);
  const to = (...addresses: string[]) => request({ ...fields, to: addresses });

  /** How many mails the server took meanwhile. */
  async function taken(act: () => Promise<void>): Promise<number> {
    const before = await server.mails();
    await act();
    return (await server.mails()) - before;
  }

  test('takes each mail once, also where it lets no connection bring so many', async () => {
    const sink = await connected();
    const count = await taken(async () => {
      for (let mail = 0; mail < 10; mail += 1)
        expect(await sink.deliver(to('dana@example.com'))).toMatchObject({ outcome: 'delivered' });
    });
    expect(count).toBe(10);
  });

  test('takes mails that come at once', async () => {
    const sink = await connected();
    const count = await taken(async () => {
      const outcomes = await Promise.all(
        Array.from({ length: 15 }, () => sink.deliver(to('dana@example.com'))),
      );
      expect(outcomes.filter(({ outcome }) => outcome !== 'delivered')).toEqual([]);
    });
    expect(count).toBe(15);
  });

  test('refuses one recipient, and the others get the mail', async () => {
    const sink = await connected();
    expect(await sink.deliver(to('ana@example.com', 'nobody@example.com'))).toMatchObject({
      outcome: 'delivered',
      receipt: { accepted: ['ana@example.com'], refused: ['nobody@example.com'] },
    });
    expect(await sink.deliver(to('nobody@example.com'))).toMatchObject({
      outcome: 'rejected',
      reason: 'not_found',
    });
  });

  test('relays nothing without a login, which is the fault of the sink', async () => {
    const sink = await connected();
    await sink.deliver(to('ana@elsewhere.example'));
    expect(await sink.deliver(to('ben@elsewhere.example'))).toMatchObject({
      outcome: 'retry',
      reason: 'auth',
      sinkWide: true,
      detail: expect.stringContaining('login'),
    });
  });

  test('relays with a login after STARTTLS', async () => {
    const sink = await loggedIn();
    const count = await taken(async () => {
      expect(await sink.deliver(to('ana@elsewhere.example'))).toMatchObject({ outcome: 'delivered' });
    });
    expect(count).toBe(1);
  });

  test('takes no wrong password', async () => {
    const sink = await connected({ ...login, password: 'wrong-1', port: server.loginPort });
    const outcome = await sink.deliver(to('dana@example.com'));
    expect(outcome).toMatchObject({ outcome: 'retry', reason: 'auth', sinkWide: true });
    expect(JSON.stringify(outcome)).not.toContain('wrong-1');
  });

  test('is not used where it does not encrypt and encryption is demanded', async () => {
    const sink = await connected({ requireTls: true } as never);
    const detail = expect.stringContaining('STARTTLS');
    expect(await sink.deliver(to('dana@example.com'))).toMatchObject({ sinkWide: true, detail });
  });

  test('greylists a recipient once', async () => {
    const sink = await connected();
    expect(await sink.deliver(to('grey@example.com'))).toMatchObject({ outcome: 'retry', reason: 'server' });
    expect(await sink.deliver(to('grey@example.com'))).toMatchObject({ outcome: 'delivered' });
  });

  test('turns a mail away with 421, and takes the next one', async () => {
    const sink = await connected();
    expect(await sink.deliver(to('dana@example.com'))).toMatchObject({ outcome: 'delivered' });
    expect(await sink.deliver(to('hangup@example.com'))).toMatchObject({ outcome: 'retry', sinkWide: true });
    expect(await sink.deliver(to('dana@example.com'))).toMatchObject({ outcome: 'delivered' });
  });

  test('takes no mail that is too long', async () => {
    const sink = await connected();
    const text = 'A long line of text.\n'.repeat(maxBytes / 10);
    expect(await sink.deliver(request({ ...fields, text }))).toMatchObject({
      outcome: 'rejected',
      advice: expect.stringContaining('Shorten'),
    });
  });

  test('answers the live check, which sends nothing', async () => {
    const mails = ['dana@example.com', 'ana@elsewhere.example'].map((each) =>
      mailOf({ ...fields, to: each }),
    );
    const count = await taken(async () => {
      const lines = await (await loggedIn()).check(mails, signal);
      expect(lines.map(({ ok }) => ok)).toEqual([true, true, true, true, true]);
      const without = await (await connected()).check(mails, signal);
      expect(without.filter(({ ok }) => !ok)).toMatchObject([
        { what: 'takes mail for ana@elsewhere.example' },
      ]);
      const wrong = await connected({ ...login, password: 'wrong-1', port: server.loginPort });
      expect((await wrong.check([], signal)).at(-1)).toMatchObject({ ok: false, what: 'login accepted' });
    });
    expect(count).toBe(0);
  });
});
