import { once } from 'node:events';
import { hostname } from 'node:os';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { defaultClientName, email } from '../../connectors/email/index.ts';
import { isLoopback } from '../../src/http/addresses.ts';
import { smtpSettings } from '../../connectors/email/client.ts';
import type { Mail } from '../../connectors/email/message.ts';
import type { Sink } from '../../src/connector.ts';
import type { Json } from '../../src/model.ts';
import { selfSigned } from '../../sandbox/certificate.ts';
import { SmtpSandbox } from '../../sandbox/smtp.ts';
import type { SmtpSandboxOptions } from '../../sandbox/smtp.ts';
import type { Retry } from '../../src/model/outcomes.ts';
import { attemptAt } from '../fixtures/event.ts';
import { compose, fields, from, mailOf, request } from './email-fixtures.ts';

/** Of the test that runs. */
let sandbox: SmtpSandbox;
let sink: Sink<Mail>;
const open: { close(): Promise<void> }[] = [];
beforeEach(() => start());
afterEach(async () => {
  for (const each of open.splice(0)) await each.close();
});

/** A server of another kind, and a sink of it. */
async function start(options: SmtpSandboxOptions = {}): Promise<void> {
  sandbox = await new SmtpSandbox(options).start();
  open.push(sandbox);
  sink = await connect();
}

async function connect({
  url = sandbox.url(),
  ...over
}: { url?: string; requireTls?: boolean; name?: string } = {}): Promise<Sink<Mail>> {
  const connected = await email.connect(email.options.parse({ url, from, ...over }));
  open.unshift(connected);
  return connected;
}

test.each([
  ['smtp', 465, true],
  ['smtps', 2465, true],
  ['smtp', 587, false],
] as const)('%s:// with port %i begins with TLS: %s', (scheme, port, secure) => {
  const options = email.options.parse({ url: `${scheme}://mail.example.com:${port}`, from });
  const common = { name: 'h', proxy: null, refreshTokens: undefined, requireTls: true };
  expect(smtpSettings({ ...options, ...common }, null)).toMatchObject({
    secure,
    requireTLS: !secure,
  });
});

describe('the mail', () => {
  test('has text and HTML, its people, headers, date and a Message-ID of delivery id and domain', async () => {
    const outcome = await sink.deliver(
      request({
        to: ['dana@example.com', '"Lee, Kim" <kim@example.org>'],
        cc: 'Ana <ana@example.com>, ben@example.com',
        bcc: 'archive@example.com',
        replyTo: 'talent@example.com',
        subject: 'Candidate 日本 completed',
        text: 'Plain žćš',
        html: '<b>Rich</b>',
        headers: { 'X-Team': 'backend' },
      }),
    );
    const [mail] = sandbox.mails;
    expect(outcome).toEqual({
      outcome: 'delivered',
      receipt: {
        reply: '250 OK: message queued',
        messageId: '<d1@example.com>',
        accepted: [
          'dana@example.com',
          'kim@example.org',
          'ana@example.com',
          'ben@example.com',
          'archive@example.com',
        ],
        refused: [],
      },
    });
    expect(mail?.envelope).toEqual({
      from: 'hiring@example.com',
      to: [
        'dana@example.com',
        'kim@example.org',
        'ana@example.com',
        'ben@example.com',
        'archive@example.com',
      ],
    });
    expect(mail?.parsed).toMatchObject({
      messageId: '<d1@example.com>',
      from: { name: 'Hiring Team', address: 'hiring@example.com' },
      to: [
        { name: '', address: 'dana@example.com' },
        { name: 'Lee, Kim', address: 'kim@example.org' },
      ],
      cc: [
        { name: 'Ana', address: 'ana@example.com' },
        { name: '', address: 'ben@example.com' },
      ],
      replyTo: [{ address: 'talent@example.com' }],
      subject: 'Candidate 日本 completed',
      date: '2026-03-01T09:30:00.000Z',
      html: expect.stringContaining('<b>Rich</b>'),
      text: expect.stringContaining('Plain žćš'),
    });
    expect(mail?.parsed.headers).toContainEqual(expect.objectContaining({ key: 'x-team', value: 'backend' }));
    expect(mail?.parsed.headers).toContainEqual(
      expect.objectContaining({ key: 'auto-submitted', value: 'auto-generated' }),
    );
    expect(mail?.raw).not.toContain('archive@example.com');
  });

  test('reuses one connection for mail after mail', async () => {
    for (let count = 0; count < 5; count++) await sink.deliver(request(fields));
    expect(sandbox.mails).toHaveLength(5);
    expect(sandbox.connections).toBe(1);
  });

  test('is tried once only, though the server hangs up', async () => {
    sandbox.faults.decide = () => ({ kind: 'drop', commit: false });
    expect(await sink.deliver(request(fields))).toMatchObject({
      outcome: 'retry',
      reason: 'network',
    });
    expect(sandbox.connections).toBe(1);
  });

  test('names with threadBy one mail that it answers, the same for a key and another for others', () => {
    const threads = ['c-1 s3cret', ' c-1 s3cret', 'c-2'].map((threadBy, index) =>
      mailOf({ ...fields, threadBy }, `d${index}`),
    );
    const [first, second, other] = threads.map(({ references, inReplyTo, messageId }) => {
      expect(inReplyTo).toBe(references);
      expect(messageId).not.toBe(references);
      return references;
    });
    expect(first).toMatch(/^<thread-[0-9a-f]{32}@example\.com>$/);
    expect(second).toBe(first);
    expect(other).not.toBe(first);
    expect(mailOf({ ...fields, threadBy: ' ' })).not.toHaveProperty('references');
  });

  test('sends what threadBy makes of it', async () => {
    await sink.deliver(request({ ...fields, threadBy: 'c-1' }));
    const { references } = mailOf({ ...fields, threadBy: 'c-1' });
    const keys = sandbox.mails[0]?.parsed.headers;
    expect(keys).toContainEqual(expect.objectContaining({ key: 'references', value: references }));
    expect(keys).toContainEqual(expect.objectContaining({ key: 'in-reply-to', value: references }));
  });

  test.for(['Auto-Submitted', 'auto-submitted', 'AUTO-SUBMITTED'])(
    'has one %s, as the action says',
    async (name) => {
      await sink.deliver(request({ ...fields, headers: { [name]: 'no' } }));
      const values = sandbox.mails[0]?.parsed.headers.filter(({ key }) => key === 'auto-submitted');
      expect(values).toMatchObject([{ value: 'no' }]);
    },
  );

  test.for(['subject', 'replyTo', 'headers', 'to'] as const)(
    'lets no line break into a header through %s',
    async (key) => {
      const evil = 'kim@example.com\r\nBcc: eve@evil.example\r\n\r\ninjected\u2028x\0';
      const value = key === 'headers' ? { 'X-Candidate': evil } : evil;
      const written = { ...fields, cc: 'ana@example.com', [key]: value };
      expect(JSON.stringify(mailOf(written))).not.toMatch(/\\r|\\n|\u2028/);
      await sink.deliver(request(written));
      const [mail] = sandbox.mails;
      expect(mail?.envelope.to).not.toContain('eve@evil.example');
      expect(mail?.parsed.headers.map((header) => header.key)).not.toContain('bcc');
      expect(mail?.parsed.text?.trim()).toBe('Done.');
    },
  );

  test('takes a list of thousands of characters in a subject', async () => {
    const subject = 'ž'.repeat(3000);
    await sink.deliver(request({ ...fields, subject }));
    expect(sandbox.mails[0]?.parsed.subject).toBe(subject);
  });

  test.each(['subject', 'text', 'html'])(
    'shows what nobody sees in what a template prints into the %s',
    (key) => {
      expect(email.templates[key as 'text']?.escape('a\u200B1\u{E0041}', [], {})).toBe(
        'a\\u{200b}1\\u{e0041}',
      );
    },
  );

  test('escapes what a template prints into HTML', () => {
    expect(email.templates.html?.escape(`<img src="x" onerror='y'> & co`, [], {})).toBe(
      '&lt;img src=&quot;x&quot; onerror=&#39;y&#39;&gt; &amp; co',
    );
  });
});

describe('a mail that has only HTML', () => {
  const textOf = (html: string): string | undefined =>
    mailOf({ to: 'dana@example.com', subject: 'Done', html }).text;

  test('gets a text made from it, which keeps words, links, lists and tables', () => {
    const html = `<style>p { color: red }</style><h1>Done &amp; dusted</h1>
      <p>See <a href="https://x.example/?a=1&amp;b=2">the result</a> or <a href="https://y.example">https://y.example</a>.<br>Bye</p>
      <ul><li>one<li>two</ul><table><tr><th>Test</th><td>Backend</td></tr><tr><th>Id</th><td>7</td></tr></table><img src="https://x.example/a.png" alt="logo">`;
    expect(textOf(html)).toBe(
      'Done & dusted\n\nSee the result (https://x.example/?a=1&b=2) or https://y.example.\nBye\n\n * one\n * two\n\nTest   Backend\nId     7',
    );
  });

  test('keeps a text that it has, even an empty one', () => {
    expect(mailOf({ to: 'dana@example.com', subject: 'Done', html: '<p>Hi</p>', text: '' }).text).toBe('');
  });

  test('has a shortened text where the HTML is huge or nested without end', () => {
    expect(textOf('<p>word</p>'.repeat(100_000))).toMatch(/word\n\n… \(shortened\)$/);
    expect(textOf('<div>'.repeat(100_000))).toContain('… (shortened)');
  });
});

describe('addresses', () => {
  test.for(['<', '"', '"\\', '\\"', '<"', '>"<', 'a <'])(
    'are read in good time from a list of %j',
    (sign) => {
      const list = `${sign.repeat(1_000_000 / sign.length)}, dana@example.com`;
      const composed = compose({ ...fields, to: list });
      expect(JSON.stringify(composed).length).toBeLessThan(2000);
    },
  );

  test('that are none are named, though not all of them where there are many', () => {
    const composed = compose({
      ...fields,
      to: ['x'.repeat(99), ...Array.from({ length: 50 }, () => 'y'), 'dana@example.com'],
    });
    const note = `Left out, as they are no email addresses: "${'x'.repeat(80)}…", ${'"y", '.repeat(9).slice(0, -2)} and 41 more.`;
    expect(composed).toMatchObject({ note });
  });

  test('are taken with names, quotes, commas, semicolons and international domains', () => {
    const mail = mailOf({
      ...fields,
      to: 'a@x.example; "B, \\"Bee\\"" <b@X.Example>,Cee <c@bücher.example>,, ',
    });
    expect(mail.to).toEqual([
      'a@x.example',
      { name: 'B, "Bee"', address: 'b@x.example' },
      { name: 'Cee', address: 'c@xn--bcher-kva.example' },
    ]);
  });

  test.for([
    'dana',
    'dana@',
    '@example.com',
    'a b@example.com',
    'a@b@example.com',
    '<dana@example.com',
    'a@-x.com',
    'a@x..com',
  ])('leaves out %j and says so, as long as somebody is left', (bad) => {
    const composed = compose({ ...fields, to: ['dana@example.com', bad] });
    expect(composed).toMatchObject({
      message: { to: ['dana@example.com'] },
      note: expect.stringContaining(JSON.stringify(bad)),
    });
  });

  test('that are all none are rejected with what was there', () => {
    const composed = compose({ ...fields, to: 'dana, kim' });
    expect(composed).toMatchObject({
      rejected: { reason: 'invalid', detail: 'No email address: "dana", "kim".' },
    });
    expect(compose({ ...fields, to: '' })).toMatchObject({ rejected: { reason: 'invalid' } });
  });

  test('get the mail once, however often they are named', async () => {
    await sink.deliver(
      request({ ...fields, to: 'dana@example.com, Dana <dana@EXAMPLE.com>', cc: 'dana@example.com' }),
    );
    expect(sandbox.mails[0]?.envelope.to).toEqual(['dana@example.com']);
  });
});

describe('recipients that the server refuses', () => {
  const three = { ...fields, to: 'ana@example.com, ben@example.com, cid@example.com' };

  test('for good do not keep the others from the mail', async () => {
    await start({ refuse: { 'ben@example.com': '550 No such user' } });
    const outcome = await sink.deliver(request(three));
    expect(sandbox.mails.map((mail) => mail.envelope.to)).toEqual([['ana@example.com', 'cid@example.com']]);
    expect(outcome).toMatchObject({
      outcome: 'delivered',
      receipt: { accepted: ['ana@example.com', 'cid@example.com'], refused: ['ben@example.com'] },
      note: expect.stringContaining('ben@example.com (550 No such user.)'),
    });
  });

  test('for now are tried again alone', async () => {
    await start({
      refuse: { 'ana@example.com': '550 No such user', 'ben@example.com': '451 Greylisted, come back' },
    });
    const first = await sink.deliver(request(three));
    expect(first).toMatchObject({
      outcome: 'retry',
      reason: 'server',
      detail: expect.stringContaining('ben@example.com'),
    });
    expect(first).not.toHaveProperty('sinkWide');
    sandbox.refuse = {};
    const kept = JSON.parse(JSON.stringify((first as { progress: Json }).progress)) as Json;
    expect(await sink.deliver(request(three, kept))).toMatchObject({
      outcome: 'delivered',
      receipt: { accepted: ['cid@example.com', 'ben@example.com'], refused: ['ana@example.com'] },
    });
    expect(sandbox.mails.map((mail) => mail.envelope.to)).toEqual([['cid@example.com'], ['ben@example.com']]);
  });

  test.for([
    [
      'for good, all of them, end the delivery with each one’s reason',
      ['550 No such user', '553 Bad name', '550 Gone'],
      {
        outcome: 'rejected',
        reason: 'not_found',
        detail: expect.stringMatching(
          /ana@example\.com \(550.*ben@example\.com \(553.*cid@example\.com \(550/,
        ),
      },
    ],
    [
      'for now, all but the lost ones, are tried again',
      ['550 No such user', '451 Later', '451 Later'],
      { outcome: 'retry', progress: { accepted: [], refused: [{ address: 'ana@example.com' }] } },
    ],
  ] as const)('%s', async ([, [ana, ben, cid], outcome]) => {
    sandbox.refuse = { 'ana@example.com': ana, 'ben@example.com': ben, 'cid@example.com': cid };
    expect(await sink.deliver(request(three))).toMatchObject(outcome);
  });

  test('last of all, after the others got it, still leave a delivered mail', async () => {
    await start({ refuse: { 'ben@example.com': '451 Later' } });
    const first = await sink.deliver(request(three));
    sandbox.refuse = { 'ben@example.com': '550 No such user' };
    expect(await sink.deliver(request(three, (first as { progress: Json }).progress))).toMatchObject({
      outcome: 'delivered',
      receipt: {
        reply: '250 OK: message queued',
        accepted: ['ana@example.com', 'cid@example.com'],
        refused: ['ben@example.com'],
      },
    });
  });

  test.for([
    [{ kind: 'drop', commit: true }, 'unknown'],
    [{ kind: 'status', status: 550, body: '5.7.1 Looks like spam' }, 'rejected'],
  ] as const)(
    'last of all are named where the mail to them fails, with those who have it: %j',
    async ([fault, outcome]) => {
      await start({ refuse: { 'ben@example.com': '451 Later' } });
      const { progress } = (await sink.deliver(request(three))) as { progress: Json };
      sandbox.refuse = {};
      sandbox.faults.only = ['DATA'];
      sandbox.faults.once(fault);
      expect(await sink.deliver(request(three, progress))).toMatchObject({
        outcome,
        detail: expect.stringContaining(
          ' This is about ben@example.com. The server took it for ana@example.com, cid@example.com before.',
        ),
      });
    },
  );
});

describe('recipients that the server refuses by policy', () => {
  const to = (address: string) => request({ ...fields, to: address });
  const relaysFor = ['example.com'];
  const denied = { outcome: 'retry', reason: 'auth', detail: expect.stringContaining('Relay access denied') };

  test('are the sink’s fault where different ones fail and none passes', async () => {
    await start({ relaysFor });
    const first = await sink.deliver(to('ana@elsewhere.example'));
    expect(first).toMatchObject({ ...denied, detail: expect.stringContaining('login') });
    expect(first).not.toHaveProperty('sinkWide');
    expect(await sink.deliver(to('ben@elsewhere.example'))).toMatchObject({ ...denied, sinkWide: true });
    expect(await sink.deliver(to('ana@elsewhere.example'))).toMatchObject({ ...denied, sinkWide: true });
    await sink.deliver(to('dana@example.com'));
    expect(await sink.deliver(to('ben@elsewhere.example'))).not.toHaveProperty('sinkWide');
  });

  test('are tried again, and the sink is not blamed, where it is one alone', async () => {
    await start({ relaysFor });
    for (let attempt = 0; attempt < 30; attempt += 1) {
      const outcome = await sink.deliver(to('ana@elsewhere.example'));
      expect(outcome).toMatchObject(denied);
      expect(outcome).not.toHaveProperty('sinkWide');
    }
  });

  test('are tried again alone, and get the mail once the server lets them', async () => {
    await start({ refuse: { 'ben@example.com': '550 5.7.1 Access denied' } });
    const both = { ...fields, to: 'ana@example.com, ben@example.com' };
    const first = await sink.deliver(request(both));
    expect(first).toMatchObject({ outcome: 'retry', progress: { accepted: ['ana@example.com'] } });
    sandbox.refuse = {};
    expect(await sink.deliver(request(both, (first as { progress: Json }).progress))).toMatchObject({
      outcome: 'delivered',
    });
    expect(sandbox.mails.map((mail) => mail.envelope.to)).toEqual([['ana@example.com'], ['ben@example.com']]);
  });

  test.for([
    ['554 Access denied', 'retry'],
    ['550 relay not permitted', 'retry'],
    ["553 sorry, that domain isn't in my list of allowed rcpthosts (#5.7.1)", 'retry'],
    ['553 sorry, your envelope sender is in my badmailfrom list (#5.7.1)', 'retry'],
    ['550 sorry, no mailbox here by that name. (#5.1.1)', 'rejected'],
    ['550 unauthorized sender', 'retry'],
    ['550 Domain example.com has exceeded the max emails per hour (100/100 (100%)) allowed.', 'retry'],
    ['550 5.7.1 Unable to relay', 'retry'],
    ['550 5.1.1 Recipient address rejected: not permitted here', 'rejected'],
    ['550 5.2.1 Mailbox disabled', 'rejected'],
    ['552 5.2.2 Mailbox full', 'rejected'],
    ['550 5.4.1 Recipient address rejected: Access denied', 'rejected'],
    ['501 5.1.3 Bad recipient address syntax', 'rejected'],
    ['504 5.5.2 Recipient address rejected: need fully-qualified address', 'rejected'],
    ['550 5.5.3 Too many recipients', 'retry'],
    ['550 5.1.90 You have reached your daily limit for message recipients', 'retry'],
    ['556 5.1.10 Recipient domain takes no mail', 'rejected'],
    ['550 No such user', 'rejected'],
    ['550 smtp-relay.example.com: <dana@relay.example.com> no such user', 'rejected'],
    ['550 This mail cannot be relayed', 'retry'],
    ['550 Unrouteable address', 'rejected'],
    ['550 Administrative prohibition', 'retry'],
    ['550 rejected because 198.51.100.4 is in a black list at lists.example.org', 'retry'],
    ['550 Your account is suspended', 'retry'],
    ['550 HELO host not found', 'retry'],
    ['550 Invalid EHLO name', 'retry'],
    ['550 No reverse DNS entry: name does not exist', 'retry'],
    ['550 cannot find your hostname: unknown', 'retry'],
    ['550 outgoing.dns.example.com: <dana@example.com> no such user', 'rejected'],
    ['553 Mailbox name invalid', 'rejected'],
    ['554 Transaction failed', 'retry'],
    ['554 5.0.0 Service unavailable', 'retry'],
    ['555 MAIL FROM parameters not recognized', 'retry'],
  ] as const)('are told from bad addresses: %s', async ([reply, outcome]) => {
    await start({ refuse: { 'dana@example.com': reply } });
    expect(await sink.deliver(request(fields))).toMatchObject({ outcome });
  });

  // Postfix defers by default (defer_unauth_destination); the second and third are Exchange's.
  test.for([
    '454 4.7.1 <ana@elsewhere.example>: Relay access denied',
    '550 5.7.54 SMTP; Unable to relay recipient in non-accepted domain',
    '550 5.7.64 TenantAttribution; Relay Access Denied',
  ])('that another domain gets no mail from here are not the sink’s for one alone: %s', async (reply) => {
    const addresses = ['ana@elsewhere.example', 'ben@elsewhere.example'] as const;
    await start({ refuse: { [addresses[0]]: reply, [addresses[1]]: reply } });
    const first = await sink.deliver(to(addresses[0]));
    const detail = expect.stringContaining("may want a login in the sink's url, or lets it send to some");
    expect({ sinkWide: false, ...first }).toMatchObject({ outcome: 'retry', sinkWide: false, detail });
    expect(await sink.deliver(to(addresses[1]))).toMatchObject({ outcome: 'retry', sinkWide: true, detail });
  });

  test('whose address or host is named after a relay get no advice about relays', async () => {
    const address = 'ana@relay.example.com';
    await start({ refuse: { [address]: `450 4.7.1 <${address}>: Recipient address rejected: Greylisted` } });
    const outcome = await sink.deliver(to(address));
    expect(outcome).toMatchObject({
      outcome: 'retry',
      detail: expect.not.stringContaining('may want a login'),
    });
  });

  test.for([
    '550 5.1.8 Access denied, bad outbound sender',
    '450 4.1.8 <hiring@example.com>: Sender address rejected: Domain not found',
    '501 5.1.7 Bad sender address syntax',
    '550 5.1.0 <hiring@example.com>: Sender address rejected: User unknown',
    '550 5.1.0 <hiring@example.com> sender rejected',
    '554 5.1.0 Sender denied',
    '550 Sender verify failed',
  ])('are told from an objection to the sender, which concerns the sink: %s', async (reply) => {
    await start({ refuse: { 'dana@example.com': reply } });
    expect(await sink.deliver(request(fields))).toMatchObject({
      outcome: 'retry',
      reason: 'auth',
      sinkWide: true,
      detail: expect.stringContaining("Check the sink's `from`"),
    });
  });
});

async function answering(call: string, status: number, body?: string) {
  sandbox.faults.only = [call];
  sandbox.faults.once({ kind: 'status', status, body });
  return sink.deliver(request(fields));
}

/** Speaks just enough SMTP to take a mail, and hangs up in the middle of it. */
async function hangingUpInTheMiddle(): Promise<string> {
  const server = createServer((socket) => {
    let inMail = false;
    socket.on('error', () => {}).write('220 ready\r\n');
    socket.on('data', (chunk) => {
      if (inMail) socket.destroy();
      inMail ||= chunk.toString().startsWith('DATA');
      socket.write(inMail ? '354 go on\r\n' : '250 fine\r\n');
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  open.push({ close: async () => void server.close() });
  return `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('a mail cut off in the middle was not taken', async () => {
  sink = await connect({ url: await hangingUpInTheMiddle() });
  const outcome = await sink.deliver(request({ ...fields, text: 'x'.repeat(8_000_000) }));
  expect(outcome).toMatchObject({ outcome: 'retry', reason: 'network' });
});

test('no line is longer than servers take, however long a word in its header is', async () => {
  const long = 'x'.repeat(3000);
  const mixed = `${'é'.repeat(1500)}😀${'y'.repeat(1500)}`;
  for (const value of [long, mixed, `é ${long}`]) {
    const outcome = await sink.deliver(
      request({ ...fields, to: `${value} <dana@example.com>`, subject: value, headers: { 'X-Id': value } }),
    );
    expect(outcome).toMatchObject({ outcome: 'delivered' });
    const { parsed } = sandbox.mails.at(-1)!;
    expect(parsed.subject?.replaceAll(' ', '')).toBe(value.replace(' ', ''));
    expect(parsed.to?.[0]?.name?.replaceAll(' ', '')).toBe(value.replace(' ', ''));
  }
});

describe('what the server says', () => {
  test('names the fix for a refused sender, recipient and message', async () => {
    expect(await answering('MAIL', 550)).toMatchObject({
      outcome: 'retry',
      sinkWide: true,
      detail: expect.stringContaining('`from`'),
    });
    expect(await answering('MAIL', 552, '5.3.4 Message too big')).toMatchObject({
      outcome: 'rejected',
      advice: expect.stringContaining('Shorten'),
    });
    expect(await answering('RCPT', 550, 'No such user')).toMatchObject({
      outcome: 'rejected',
      reason: 'not_found',
    });
    expect(await answering('DATA', 552)).toMatchObject({
      outcome: 'rejected',
      advice: expect.stringContaining('Shorten'),
    });
  });

  test('takes whatever refuses the login for a fault of the login', async () => {
    await start({ login: { user: 'u', password: 'right' } });
    sandbox.faults.only = ['AUTH'];
    sandbox.faults.once({ kind: 'status', status: 550 });
    expect(await sink.deliver(request(fields))).toMatchObject({
      outcome: 'retry',
      reason: 'auth',
      sinkWide: true,
    });
  });

  const ofSink = (words: string) => ({
    outcome: 'retry',
    reason: 'auth',
    sinkWide: true,
    detail: expect.stringContaining(words),
  });
  const ofMail = (advice: string) => ({ outcome: 'rejected', advice: expect.stringContaining(advice) });
  const perhapsOfSink = { outcome: 'retry', sinkWide: 'perhaps' };
  const forNow = (sinkWide: boolean | 'perhaps') => ({ outcome: 'retry', sinkWide });
  const rate = {
    outcome: 'retry',
    reason: 'rate_limited',
    detail: expect.stringContaining('`rate` and `concurrency`'),
  };
  // A quota is one of the account, as the server has taken the recipients by then.
  const quota = { ...rate, sinkWide: true };
  const ofMailbox = { ...rate, sinkWide: false };
  const ofRecipient = {
    outcome: 'retry',
    sinkWide: false,
    detail: expect.stringContaining('check the address'),
  };
  test.for([
    ['CONNECT', 554, '5.7.1 Access denied', ofSink('5.7.1 Access denied')],
    ['MAIL', 550, '5.7.1 Sender address rejected: not logged in', ofSink('not logged in')],
    ['MAIL', 553, '5.7.1 Sender address rejected: not owned by user', ofSink('not owned by user')],
    ['RCPT', 530, '5.7.0 Authentication required', ofSink('Authentication required')],
    ['DATA', 554, '5.7.1 Spam message rejected', ofMail('')],
    // Without a code, or with one that says nothing.
    ['DATA', 554, 'Message rejected: Email address is not verified.', perhapsOfSink],
    [
      'DATA',
      554,
      'Message rejected: Email address is not verified. The following identities failed the check: hr@content.example',
      perhapsOfSink,
    ],
    ['DATA', 554, 'Access denied: the account is paused', perhapsOfSink],
    ['DATA', 554, '5.0.0 Transaction failed', perhapsOfSink],
    ['DATA', 554, 'Rejected as spam', ofMail('')],
    ['DATA', 554, '5.6.0 Message rejected', ofMail('')],
    // Of one mail: for the one recipient whose mailbox is full, or for what it says.
    ['DATA', 552, '5.2.2 The email account that you tried to reach is over quota.', ofMail('')],
    ['DATA', 552, "5.2.2 The recipient's inbox is out of storage space.", ofMail('')],
    ['DATA', 552, '5.2.2 <a@example.com> Quota exceeded (mailbox for user is full)', ofMail('')],
    ['DATA', 552, '5.3.4 Message size exceeds fixed limit', ofMail('Shorten')],
    ['DATA', 552, 'Requested mail action aborted: mailbox is full', ofMail('full')],
    ['DATA', 550, 'Mail quota exceeded', ofMail('quota')],
    ['DATA', 550, 'Message rejected: monthly quota exceeded', quota],
    ['DATA', 552, '5.7.0 This message was blocked because of its content', ofMail('objects to what')],
    // Of the sender or the tenant.
    ['DATA', 550, '5.1.8 Access denied, bad outbound sender', ofSink('')],
    ['DATA', 554, '5.2.252 SendAsDenied; a@x.example not allowed to send as b@x.example', ofSink('`from`')],
    ['DATA', 554, '5.2.0 STOREDRV.Submission.Exception:SendAsDeniedException', ofSink('`from`')],
    ['DATA', 554, '5.2.0 STOREDRV.Submission.Exception:OutboundSpamException', ofSink('lift')],
    ['DATA', 554, '5.2.2 mailbox full; Failed to process message', ofSink('lift')],
    ['DATA', 550, '5.7.60 Client does not have permissions to send as this sender', ofSink('`from`')],
    ['DATA', 550, '5.7.501 Access denied, spam abuse detected', ofSink('lift')],
    ['DATA', 550, '5.7.708 Access denied, traffic not accepted from this IP', ofSink('lift')],
    ['DATA', 550, '5.7.232 Your trial tenant has exceeded its daily limit', ofSink('lift')],
    ...(['5.7.26', '5.7.27', '5.7.30', '5.7.32', '5.7.40'] as const).map(
      // Gmail of SPF, DKIM and DMARC (support.google.com/a/answer/3726730).
      (code) =>
        [
          'DATA',
          550,
          `${code} Your email has been blocked: the sender is unauthenticated`,
          ofSink('lift'),
        ] as const,
    ),
    ['DATA', 550, 'The from address does not match a verified Sender Identity', ofSink('`from`')],
    // Of the machine, in Postfix' words (default_rbl_reply).
    [
      'RCPT',
      554,
      '5.7.1 Service unavailable; Client host [192.0.2.1] blocked using x.example',
      ofSink('lift'),
    ],
    [
      'DATA',
      554,
      '5.7.1 Service unavailable; Client host [192.0.2.1] blocked using x.example',
      ofSink('lift'),
    ],
    ['MAIL', 552, '5.2.2 Mailbox full', ofSink('lift')],
    ['RCPT', 550, '5.7.705 Access denied, tenant has exceeded threshold', ofSink('lift')],
    // Of one recipient, by Microsoft's list of codes (learn.microsoft.com, "Email non-delivery reports in Exchange Online").
    ['RCPT', 550, '5.7.504 a@x.example: Recipient address rejected: Access denied', ofRecipient],
    ['RCPT', 550, '5.7.505 Access denied, banned recipient', ofRecipient],
    ['RCPT', 550, '5.7.703 Messages to a@x.example are blocked by your organization', ofRecipient],
    // Of too many mails: no fault of the login.
    ['DATA', 454, 'Throttling failure: Daily message quota exceeded.', quota],
    ['DATA', 550, 'You have reached your sending limit', quota],
    [
      'DATA',
      550,
      '5.2.122 The recipient has exceeded the number of messages per hour',
      { ...rate, sinkWide: false },
    ],
    ['DATA', 454, 'Throttling failure: Maximum sending rate exceeded.', quota],
    ['AUTH', 454, '4.7.0 Too many login attempts, please try again later.', rate],
    // SendGrid, when a plan's mails are used up (experienceleague.adobe.com, "Emails not sent when SendGrid credits exceeded").
    ['AUTH', 451, 'Authentication failed: Maximum credits exceeded', rate],
    // Of the server, and not of the password (RFC 4954, 4).
    ['AUTH', 454, '4.7.0 Temporary authentication failure', ofSink('cannot check logins just now')],
    ['MAIL', 432, '4.3.2 Concurrent connections limit exceeded.', rate],
    ['DATA', 432, '4.3.2 STOREDRV.ClientSubmit; sender thread limit exceeded', quota],
    ['DATA', 554, '5.2.0 STOREDRV.Submission.Exception:SubmissionQuotaExceededException', quota],
    ['DATA', 552, 'Sender rate overlimit', quota],
    ['RCPT', 454, 'Throttling failure: Daily message quota exceeded.', rate],
    ['DATA', 550, '5.4.5 Daily user sending limit exceeded', quota],
    ['DATA', 550, '5.7.1 Daily SMTP relay limit exceeded for customer', quota],
    ['DATA', 450, '4.2.1 Peak SMTP relay limit exceeded for customer', quota],
    ['MAIL', 450, 'Mail send limit exceeded', rate],
    ['MAIL', 450, '4.7.1 Error: too much mail from 192.0.2.1', rate],
    ['RCPT', 450, '4.7.1 Error: too many recipients from 192.0.2.1', rate],
    ['DATA', 550, '5.4.6 Hourly email limit exceeded', quota],
    // Of one recipient's mailbox, in Gmail's words.
    ['DATA', 450, '4.2.1 The user you are trying to contact is receiving mail too quickly.', ofMailbox],
    // For now.
    ['RCPT', 450, '4.2.0 Greylisted', forNow(false)],
    ['RCPT', 450, '4.1.2 Domain not found', forNow(false)],
    // RFC 5321, 4.5.3.1.10: "Clients SHOULD treat a 552 code in this case as a temporary, rather than permanent, failure".
    ['RCPT', 552, 'Too many recipients', { ...forNow(false), reason: 'server' }],
    ['RCPT', 552, '5.5.3 Error: too many recipients', { ...forNow(false), reason: 'server' }],
    ['RCPT', 452, '4.3.1 Insufficient system storage', forNow('perhaps')],
    ['RCPT', 451, '4.4.3 Name server failure', forNow('perhaps')],
    ['DATA', 451, '4.3.0 Queue file write error', forNow('perhaps')],
    ['DATA', 451, '4.7.1 Try again later', forNow(false)],
    // Of no login, which is through by then.
    ['DATA', 454, 'Temporary service failure', { ...forNow(false), reason: 'server' }],
    ['MAIL', 452, '4.3.1 Insufficient system storage', forNow(true)],
    ['MAIL', 452, '4.4.5 Insufficient disk space; try again later', { ...forNow(true), reason: 'server' }],
  ] as const)('at %s, %d %s, concerns the sink or the mail', async ([call, code, said, expected]) => {
    if (call === 'AUTH') await start({ login: { user: 'u', password: 'right' } });
    expect({ sinkWide: false, ...(await answering(call, code, said)) }).toMatchObject(expected);
  });

  test('in the same words of two mails concerns the sink, until one is taken', async () => {
    sandbox.faults.only = ['DATA'];
    const refused = async (id: string, said: string) => {
      sandbox.faults.once({ kind: 'status', status: 550, body: said });
      const { outcome, sinkWide } = (await sink.deliver(attemptAt(compose(fields, id)))) as Retry;
      return [outcome, sinkWide];
    };
    const words = (n: number) => `5.7.1 <${n}@x> Not allowed by policy [AM0PR${n} 2026-11-23T00:00:${n}Z]`;
    expect(await refused('d1', words(11))).toEqual(['rejected', undefined]);
    expect(await refused('d1', words(12))).toEqual(['rejected', undefined]);
    expect(await refused('d1', '5.7.1 Spam message rejected')).toEqual(['rejected', undefined]);
    expect(await refused('d3', '5.3.4 Too big')).toEqual(['rejected', undefined]);
    expect(await refused('d4', '5.3.4 Too big')).toEqual(['rejected', undefined]);
    expect(await refused('d5', words(13))).toEqual(['rejected', undefined]);
    expect(await refused('d6', words(14))).toEqual(['retry', true]);
    expect(await refused('d7', words(15))).toEqual(['retry', true]);
    await sink.deliver(request(fields));
    expect(await refused('d6', words(16))).toEqual(['rejected', undefined]);
  });

  test('of three mails in a row concerns the sink, whatever the words: gateways name themselves, and quote', async () => {
    sandbox.faults.only = ['DATA'];
    const refused = async (id: string, by: string) => {
      sandbox.faults.once({ kind: 'status', status: 550, body: `5.7.1 Refused by ${by}: account policy` });
      return (await sink.deliver(attemptAt(compose(fields, id)))).outcome;
    };
    expect(await refused('d1', 'gateway-a')).toBe('rejected');
    expect(await refused('d2', 'gateway-b')).toBe('rejected');
    expect(await refused('d2', 'gateway-a')).toBe('rejected');
    expect(await refused('d3', 'gateway-c')).toBe('retry');
    await sink.deliver(request(fields));
    expect(await refused('d3', 'gateway-b')).toBe('rejected');
  });

  const last = { 1: 10, 2: 4, 3: 5, 4: 7, 5: 6, 6: 7, 7: 13 } as const;
  const ofSubject = (subject: keyof typeof last) =>
    Array.from({ length: last[subject] + 1 }, (_, detail) => `${subject}.${detail}`);
  /** Where each code that is not named stands, by its subject (RFC 3463). */
  const places = {
    MAIL: { 1: 'sink', 2: 'sink', 3: 'sink', 4: 'sink', 5: 'sink', 6: 'sink', 7: 'sink' },
    RCPT: { 1: 'address', 2: 'address', 3: 'system', 4: 'system', 5: 'address', 6: 'address', 7: 'policy' },
    DATA: { 1: 'mail', 2: 'mail', 3: 'system', 4: 'system', 5: 'mail', 6: 'mail', 7: 'mail' },
  } as const;
  const exceptions: { readonly [code: string]: string } = {
    'MAIL 2.3': 'mail', // too long
    'MAIL 3.4': 'mail',
    'RCPT 1.7': 'sink', // the sender's address
    'RCPT 1.8': 'sink',
    'RCPT 3.4': 'address', // the mail is too long for the way there
    'RCPT 5.3': 'policy', // too many recipients
    'DATA 1.7': 'sink',
    'DATA 2.2': 'sink', // the mailbox that it is sent from
    'DATA 1.8': 'sink',
    'DATA 3.4': 'mail',
    'DATA 4.5': 'sink', // the day's quota
  };
  const meanings: { readonly [place: string]: object } = {
    address: { outcome: 'rejected', reason: 'not_found' },
    mail: { outcome: 'rejected', reason: 'invalid' },
    sink: { outcome: 'retry', sinkWide: true },
    // Of others, too, or of this recipient only: one alone does not tell.
    policy: { outcome: 'retry', reason: 'auth', sinkWide: false },
    system: { outcome: 'retry', sinkWide: 'perhaps' },
  };

  test.for(
    (['MAIL', 'RCPT', 'DATA'] as const).flatMap((command) =>
      ([1, 2, 3, 4, 5, 6, 7] as const).map((subject) => [command, subject] as const),
    ),
  )('at %s by a code 5.%s.x of RFC 3463 has its place', async ([command, subject]) => {
    sandbox.faults.only = [command];
    for (const code of ofSubject(subject)) {
      sandbox.faults.once({ kind: 'status', status: 550, body: `5.${code} Said so` });
      const outcome = { sinkWide: false, ...(await sink.deliver(request(fields))) };
      const place = exceptions[`${command} ${code}`] ?? places[command][subject];
      expect({ code, outcome }).toMatchObject({ code, outcome: meanings[place] });
    }
  });

  test('never shows the password, not even where the server repeats it', async () => {
    await start({ login: { user: 'u', password: 'hunter22' } });
    sandbox.faults.only = ['AUTH'];
    const repeated = `AUTH PLAIN ${Buffer.from('\0u\0hunter22').toString('base64')} hunter22`;
    sandbox.faults.once({ kind: 'status', status: 535, body: repeated });
    const outcome = await sink.deliver(request(fields));
    expect(outcome).toMatchObject({ reason: 'auth', detail: expect.stringContaining('AUTH PLAIN *** ***') });
  });
});

describe('the name that the client gives', () => {
  test('is the option’s, else never one without a dot', async () => {
    await (await connect({ name: 'connector.example.org' })).deliver(request(fields));
    await sink.deliver(request(fields));
    expect(sandbox.mails.map(({ ehlo }) => ehlo)).toEqual([
      'connector.example.org',
      defaultClientName(hostname(), 'example.com'),
    ]);
  });

  test.for([
    ['mail.example.org', 'mail.example.org'],
    ['vm', 'example.com'],
    ['0f3a8c1b2d4e', 'example.com'],
    ['localhost.localdomain', 'example.com'],
    ['laptop.local', 'example.com'],
    ['10.0.0.7', 'example.com'],
    ['', 'example.com'],
  ] as const)('on a machine called %j is %s', ([machine, expected]) => {
    expect(defaultClientName(machine, 'example.com')).toBe(expected);
  });

  test.for(['vm', 'a b.example', 'a.example\r\nMAIL', '10.0.0.7', ''])('cannot be %j', (name) => {
    expect(email.options.safeParse({ url: 'smtp://localhost', from, name }).success).toBe(false);
  });
});

describe('the connection', () => {
  const certificate = selfSigned();
  const authorities = getCACertificates('default');
  beforeAll(() => setDefaultCACertificates([...authorities, certificate.cert]));
  afterAll(() => setDefaultCACertificates(authorities));
  const login = { user: 'hiring', password: 'secret-1' };

  test.for([false, true])('is encrypted and logged in (TLS from the start: %s)', async (implicit) => {
    await start({ login, tls: { ...certificate, implicit } });
    expect(await (await connect({ requireTls: true })).deliver(request(fields))).toMatchObject({
      outcome: 'delivered',
    });
    expect(sandbox.mails).toMatchObject([{ encrypted: true, user: 'hiring' }]);
  });

  test('sends nothing in the clear where encryption is demanded', async () => {
    await start({ login });
    expect(await (await connect({ requireTls: true })).deliver(request(fields))).toMatchObject({
      outcome: 'retry',
      sinkWide: true,
      detail: expect.stringContaining('STARTTLS'),
    });
  });

  test('demands encryption by default for a login on another machine only', async () => {
    const tls = selfSigned();
    await start({ login, tls });
    expect(await sink.deliver(request(fields))).toMatchObject({ outcome: 'delivered' });
    expect(await (await connect({ requireTls: true })).deliver(request(fields))).toMatchObject({
      outcome: 'retry',
      sinkWide: true,
      detail: expect.stringMatching(/not trusted.* NODE_EXTRA_CA_CERTS and restart/),
    });
  });

  test.for([
    ['localhost', true],
    ['127.0.0.2', true],
    ['::1', true],
    ['127.mail.example.com', false],
    ['mail.example.com', false],
  ] as const)('takes %s for this machine: %s', ([host, expected]) => {
    expect(isLoopback(host)).toBe(expected);
  });

  test.for([
    [-1000, 'has expired. Have it renewed there.'],
    [30 * 86_400_000, "is not valid yet. Check this machine's clock"],
  ] as const)('says when a certificate is not valid: one that ends in %d ms', async ([endsIn, words]) => {
    const other = selfSigned(new Date(Date.now() + endsIn));
    setDefaultCACertificates([...authorities, certificate.cert, other.cert]);
    await start({ tls: { ...other, implicit: true } });
    expect(await sink.deliver(request(fields))).toMatchObject({
      detail: expect.stringContaining(words),
    });
  });

  test.for([false, true])(
    'says that a server is too old for its TLS (TLS from the start: %s)',
    async (implicit) => {
      const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT:@SECLEVEL=0' } as const;
      await start({ tls: { ...certificate, ...old, implicit } });
      expect(await (await connect({ requireTls: true })).deliver(request(fields))).toMatchObject({
        outcome: 'retry',
        sinkWide: true,
        detail:
          'The mail server and this machine find no TLS that both know (ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION). Have the server updated to TLS 1.2 or later, or send through another one; it may also want a certificate, which the connector has none of.',
      });
    },
  );

  test('says that smtps meets a server that does not start with TLS', async () => {
    const url = sandbox.url().replace('smtp:', 'smtps:');
    expect(await (await connect({ url })).deliver(request(fields))).toMatchObject({
      outcome: 'retry',
      detail: expect.stringContaining('Use smtp://'),
    });
  });
});

describe('the live check', () => {
  let signal: AbortSignal;
  beforeEach(() => {
    signal = new AbortController().signal;
  });

  test('tells a wrong login from a server that does not answer', async () => {
    await start({ login: { user: 'u', password: 'right' } });
    const wrong = await connect({ url: sandbox.url('u', 'wrong') });
    expect(await wrong.check([], signal)).toMatchObject([
      { ok: true, what: 'mail server answers' },
      { ok: false, what: 'login accepted', advice: expect.stringContaining('password') },
    ]);
    await sandbox.stop();
    expect(await wrong.check([], signal)).toMatchObject([{ ok: false, what: 'mail server answers' }]);
  });

  const mails = (...addresses: string[]) => addresses.map((address) => mailOf({ ...fields, to: address }));

  test('asks about the sender and one recipient of each domain, and sends nothing', async () => {
    const asked = mails('ana@a.example, Ben <ben@a.example>', 'cid@b.example', 'dan@a.example');
    expect(await sink.check(asked, signal)).toMatchObject([
      { ok: true, what: 'mail server answers' },
      { ok: true, what: 'login accepted' },
      { ok: true, what: 'may send from hiring@example.com' },
      { ok: true, what: 'takes mail for ana@a.example' },
      { ok: true, what: 'takes mail for cid@b.example' },
    ]);
    expect(sandbox.mails).toEqual([]);
  });

  test.for(['450 4.2.0 Greylisted', '421 4.7.0 Come back later'])('cannot tell by %s', async (reply) => {
    await start({ refuse: { 'dana@example.com': reply } });
    expect((await sink.check(mails('dana@example.com'), signal)).at(-1)).toMatchObject({
      ok: true,
      detail: expect.stringContaining(`cannot tell just now: ${reply}`),
    });
  });

  test.for([
    ['CONNECT', 421, 'mail server answers'],
    ['AUTH', 454, 'login accepted'],
    ['MAIL', 451, 'may send from hiring@example.com'],
  ] as const)('cannot tell by a 4xx at %s', async ([call, status, what]) => {
    await start({ login: { user: 'u', password: 'right' } });
    sandbox.faults.only = [call];
    sandbox.faults.once({ kind: 'status', status, body: 'Later' });
    const detail = `The mail server cannot tell just now: ${status} Later.`;
    expect((await sink.check(mails('dana@example.com'), signal)).at(-1)).toEqual({
      ok: true,
      what,
      detail,
    });
  });

  test.for<[string, () => Promise<unknown>, string, string]>([
    [
      'a relay that refuses without a login',
      () => start({ relaysFor: ['example.com'] }),
      'takes mail for ana@elsewhere.example',
      'login',
    ],
    [
      'a relay that defers without a login, as Postfix does by default',
      () => start({ refuse: { 'ana@elsewhere.example': '454 4.7.1 Relay access denied' } }),
      'takes mail for ana@elsewhere.example',
      'login',
    ],
    ['a sender that is not taken', refusesSender, 'may send from hiring@example.com', '`from`'],
    [
      'a login that is missing',
      async () => {
        await start({ login: { user: 'u', password: 'right' } });
        sink = await connect({ url: `smtp://localhost:${sandbox.port}` });
      },
      'may send from hiring@example.com',
      'user and password',
    ],
    [
      'a name that is not taken',
      async () => (sink = await connect({ name: '[127.0.0.1]' })),
      'may send from hiring@example.com',
      '`name`',
    ],
  ])('finds %s, and says what to do', async ([, prepare, what, words]) => {
    await prepare();
    const lines = await sink.check(mails('dana@example.com', 'ana@elsewhere.example'), signal);
    expect(lines.filter(({ ok }) => !ok)).toMatchObject([{ what, advice: expect.stringContaining(words) }]);
    expect(lines.at(-1)).toMatchObject({ what });
  });

  async function refusesSender() {
    sandbox.faults.only = ['MAIL'];
    sandbox.faults.once({ kind: 'status', status: 550, body: '5.7.1 Sender not allowed' });
  }

  test('says that the server offers no login', async () => {
    sink = await connect({ url: sandbox.url('u', 'unused') });
    expect((await sink.check([], signal))[1]).toMatchObject({
      ok: true,
      what: 'login accepted',
      detail: expect.stringContaining('offers no login'),
    });
  });

  test('says that the server hung up in the middle', async () => {
    sandbox.faults.only = ['RCPT'];
    sandbox.faults.once({ kind: 'drop', commit: false });
    expect((await sink.check(mails('dana@example.com'), signal)).at(-1)).toMatchObject({
      ok: false,
      what: 'stays connected',
    });
  });

  test('stops when it is told to', async () => {
    sandbox.faults.decide = () => ({ kind: 'hang', commit: false });
    expect(await sink.check([], AbortSignal.timeout(20))).toMatchObject([
      { ok: false, detail: expect.stringContaining('in time') },
    ]);
  });
});

describe('the limits of a server', () => {
  // The words of Exim, which hangs up after them, and of servers that wait for the client to do so.
  const tooMany = ['421 too many messages in this connection', '452 4.5.3 Too many messages in this session'];

  test.for(tooMany)('on mails of a connection open another: %s', async (reply) => {
    await start({ perConnection: { mails: 2, reply } });
    for (let count = 0; count < 5; count += 1)
      expect(await sink.deliver(request(fields))).toMatchObject({ outcome: 'delivered' });
    expect(sandbox.connections).toBe(3);
  });

  test.for([...tooMany, '530 5.7.0 Authentication required', '451 4.7.0 Session expired, please reconnect'])(
    'that end a login after a mail open another connection each time: %s',
    async (reply) => {
      await start({ perConnection: { mails: 1, reply } });
      for (let count = 0; count < 4; count += 1)
        expect(await sink.deliver(request(fields))).toMatchObject({ outcome: 'delivered' });
      expect(sandbox.connections).toBe(4);
    },
  );

  test.for(tooMany)('that hold for a new connection, too, are the server’s: %s', async (reply) => {
    await sink.deliver(request(fields));
    sandbox.faults.only = ['MAIL'];
    sandbox.faults.decide = () => ({
      kind: 'status',
      status: Number(reply.slice(0, 3)),
      body: reply.slice(4),
    });
    const outcome = await sink.deliver(request(fields));
    expect(outcome).toMatchObject({ outcome: 'retry', reason: 'rate_limited', sinkWide: true });
    expect(sandbox.connections).toBe(2);
    await sink.deliver(request(fields));
    expect(sandbox.connections).toBeLessThan(4);
  });

  test('on mails that come at once are no fault of any', async () => {
    await start({ perConnection: { mails: 3, reply: tooMany[1]! } });
    for (let round = 0; round < 5; round += 1) {
      const outcomes = await Promise.all(Array.from({ length: 5 }, () => sink.deliver(request(fields))));
      expect(outcomes.map(({ outcome }) => outcome)).toEqual(Array(5).fill('delivered'));
    }
    expect(sandbox.mails).toHaveLength(25);
  });

  test('on idle connections are no fault', async () => {
    await start({ idleMs: 300 });
    for (let count = 0; count < 2; count += 1) {
      expect(await sink.deliver(request(fields))).toMatchObject({ outcome: 'delivered' });
      await vi.waitUntil(() => sandbox.open === 0);
    }
  });

  test('on size are the mail’s', async () => {
    await start({ maxBytes: 100_000 });
    expect(await sink.deliver(request({ ...fields, text: 'x\n'.repeat(100_000) }))).toMatchObject({
      outcome: 'rejected',
      advice: expect.stringContaining('Shorten'),
    });
    expect(await sink.deliver(request(fields))).toMatchObject({ outcome: 'delivered' });
  });

  test('that greylist let the mail in at the next attempt', async () => {
    await start({ greylists: true });
    expect(await sink.deliver(request(fields))).toMatchObject({ outcome: 'retry', reason: 'server' });
    expect(await sink.deliver(request(fields))).toMatchObject({ outcome: 'delivered' });
  });
});

describe('the options', () => {
  test('refuse requireTls: false for smtps, which always encrypts', () => {
    const given = { url: 'smtps://mail.example.com', from, requireTls: false };
    expect(email.options.safeParse(given).error?.issues).toMatchObject([
      { path: ['requireTls'], message: expect.stringContaining('smtp://') },
    ]);
  });

  test.for([
    ['http://mail.example.com', 'expected smtp://'],
    ['smtp://', 'expected smtp://'],
    ['smtp://user@mail.example.com', 'belong together'],
    ['smtp://user:pa/ss@mail.example.com:587', 'percent-encoded'],
    ['smtp://user:100%@mail.example.com', '%25'],
    ['smtp://user:hunter22@mail.example.com/path?x=1', 'nothing may follow'],
  ] as const)('refuse the url %j without repeating it', ([url, message]) => {
    const { error } = email.options.safeParse({ url, from });
    expect(error?.issues).toMatchObject([{ path: ['url'], message: expect.stringContaining(message) }]);
    expect(error?.message).not.toContain('hunter22');
  });

  test.for(['', 'Hiring', 'a@x.example, b@x.example'])('refuse the sender %j', (sender) => {
    expect(email.options.safeParse({ url: 'smtp://localhost', from: sender }).success).toBe(false);
  });

  test.for(['From', 'bcc', 'Content-Type', 'Message-ID', 'X Y', 'X-A:'])('refuse the header %j', (name) => {
    const parsed = email.action.safeParse({ ...fields, headers: { [name]: 'x' } });
    expect(parsed.error?.issues[0]?.path[0]).toBe('headers');
  });

  test('of an action refuse a mail that says nothing', () => {
    const { text: _, ...rest } = fields;
    expect(email.action.safeParse({ ...rest, headers: { From: 'x' } }).error?.issues).toHaveLength(2);
    expect(
      email.compose(rest, { deliveryId: 'd1' } as never, email.options.parse({ url: 'smtp://h', from })),
    ).toMatchObject({
      rejected: { reason: 'invalid' },
    });
  });
});
