import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { email } from '../../connectors/email/index.ts';
import { selfSigned } from '../../sandbox/certificate.ts';
import { fields, from, request } from './email-fixtures.ts';
import { eventually } from '../fixtures/eventually.ts';
import { standStillUntilOver } from '../fixtures/stand-still.ts';
import { TimedSignal } from '../../src/support/clock.ts';

/** Replies by command, each without its end of line; `null` keeps silent. */
type Replies = { readonly [command: string]: string | null };

const fair = {
  CONNECT: '220 ready',
  EHLO: '250-mail.example.com\r\n250 AUTH PLAIN',
  AUTH: '235 welcome',
  MAIL: '250 fine',
  RCPT: '250 fine',
  DATA: '354 go on',
  '.': '250 taken',
  STARTTLS: '220 go on',
} satisfies Replies;

/** A mail server that follows a script. */
async function scripted(over: Replies = {}, act: (command: string, socket: Socket) => void = () => {}) {
  const replies: Replies = { ...fair, ...over };
  const commands: string[] = [];
  const open = new Set<Socket>();
  const speak = (socket: Socket): void => {
    let inMail = false;
    const reply = (command: string): void => {
      commands.push(command);
      const text = replies[command] ?? (command in replies ? null : '250 fine');
      if (text !== null && socket.writable) socket.write(`${text}\r\n`);
      inMail = command === 'DATA' && text?.startsWith('354') === true;
      act(command, socket);
    };
    let rest = '';
    socket.on('data', (chunk) => {
      const lines = (rest + chunk.toString('latin1')).split('\r\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        if (!inMail) reply(line.split(' ')[0]!.toUpperCase());
        else if (line === '.') reply('.');
      }
    });
    if (!(socket instanceof TLSSocket)) reply('CONNECT');
  };
  const server = createServer((socket) => {
    open.add(socket.on('error', () => {}).once('close', () => open.delete(socket)));
    speak(socket);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, commands, open, speak };
}

async function connect(port: number, over: object = {}) {
  const url = `smtp://ann:a-secret-password@127.0.0.1:${port}`;
  const sink = await email.connect(email.options.parse({ url, from, ...over }));
  onTestFinished(() => sink.close());
  return sink;
}

const stages = ['CONNECT', 'EHLO', 'AUTH', 'MAIL', 'RCPT', 'DATA', '.'] as const;

describe.for(['', '250-PIPELINING\r\n'])('with %j', (extensions) => {
  const EHLO = `250-mail.example.com\r\n${extensions}250 AUTH PLAIN`;

  test.for(stages)('421 at %s makes the sink wait, and the mail go later, once', async (stage) => {
    const replies: { [command: string]: string } = { EHLO, [stage]: '421 4.3.2 Shutting down' };
    const hangUp = (command: string, socket: Socket) =>
      void (command === stage && replies[stage] && socket.end());
    const { port, commands } = await scripted(replies, hangUp);
    const sink = await connect(port);
    const outcome = await sink.deliver(request({ ...fields, to: ['dana@example.com', 'ben@example.com'] }));
    // The library drops replies that wait to be read when the connection ends.
    const words = stage === 'DATA' && extensions !== '' ? /421|closed the connection/ : /421 4.3.2 Shutting/;
    const detail = expect.stringMatching(words);
    expect(outcome).toMatchObject({ outcome: 'retry', sinkWide: true, detail });
    expect(commands.filter((command) => command === '.')).toHaveLength(stage === '.' ? 1 : 0);
  });

  test.for(stages)(
    'a server that drips its reply at %s holds no attempt and no connection',
    async (stage) => {
      const dripping = (command: string, socket: Socket) => {
        if (command !== stage) return;
        const timer = setInterval(() => socket.write('2'), 5);
        socket.once('close', () => clearInterval(timer));
      };
      const { port, open } = await scripted({ EHLO, [stage]: null }, dripping);
      const sink = await connect(port);
      const controller = new AbortController();
      const outcome = sink.deliver(request(fields, null, { signal: controller.signal }));
      await eventually(() => expect(open.size).toBe(1));
      setTimeout(() => controller.abort(), 100);
      expect(await outcome).toMatchObject({
        outcome: stage === '.' ? 'unknown' : 'retry',
        reason: 'timeout',
      });
      await eventually(() => expect(open.size).toBe(0));
    },
  );
});

test('a server that is slow to greet, as one that looks for the name of each client, is waited for', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
  onTestFinished(() => void vi.useRealTimers());
  const greetLate = (command: string, socket: Socket) => {
    if (command !== 'CONNECT') return;
    vi.advanceTimersByTime(30_000);
    socket.write('220 ready\r\n');
  };
  const { port } = await scripted({ CONNECT: null }, greetLate);
  expect(await (await connect(port)).deliver(request(fields))).toMatchObject({ outcome: 'delivered' });
});

test.for(['CONNECT', '.'])('a server that is too slow at %s is told with what to set', async (stage) => {
  const controller = new AbortController();
  const stop = (command: string) => void (command === stage && setTimeout(() => controller.abort(), 50));
  const { port } = await scripted({ [stage]: null }, stop);
  const outcome = await (await connect(port)).deliver(request(fields, null, { signal: controller.signal }));
  expect(outcome).toMatchObject({
    outcome: stage === '.' ? 'unknown' : 'retry',
    reason: 'timeout',
    detail: expect.stringMatching(/raise the sink's timeout/),
  });
});

describe('a reply that has no end', () => {
  test.for(stages)('at %s fails the attempt and fills no memory', async (stage) => {
    let written = 0;
    const flood = (command: string, socket: Socket) => {
      if (command !== stage) return;
      const line = `250-${'x'.repeat(500)}\r\n`.repeat(20);
      const more = () => {
        while (socket.writable && written < 50_000_000) {
          written += line.length;
          if (!socket.write(line)) {
            socket.once('drain', more);
            return;
          }
        }
      };
      more();
    };
    const { port, open } = await scripted({ [stage]: null }, flood);
    const outcome = await (await connect(port)).deliver(request(fields));
    expect(outcome).toMatchObject(
      stage === '.' ? { outcome: 'unknown' } : { outcome: 'retry', sinkWide: true },
    );
    expect(JSON.stringify(outcome).length).toBeLessThan(1000);
    await eventually(() => expect(open.size).toBe(0));
    expect(written).toBeLessThan(10_000_000);
  });
});

describe('a process that stands still after a mail went out, until the time of the attempt is up,', () => {
  const messageOf = (sink: Awaited<ReturnType<typeof connect>>, signal: AbortSignal) =>
    sink.deliver(request(fields, null, { signal }));

  test('reads the reply that came meanwhile, where its timers run first', async () => {
    const controller = new AbortController();
    const { port } = await scripted(
      {},
      (command) => void (command === '.' && standStillUntilOver(controller)),
    );
    const outcome = await messageOf(await connect(port), controller.signal);
    expect(outcome).toMatchObject({ outcome: 'delivered', receipt: { reply: '250 taken' } });
  });

  test('reads the reply that came meanwhile, where it is read before its timers run', async () => {
    const controller = new AbortController();
    let isOver = false;
    const { port } = await scripted({}, (command) => void (command === '.' && (isOver = true)));
    const limit = {
      get isOver() {
        return isOver;
      },
      abort: () => controller.abort(),
    };
    const outcome = await messageOf(await connect(port), TimedSignal.of(controller.signal, limit));
    expect(outcome).toMatchObject({ outcome: 'delivered', receipt: { reply: '250 taken' } });
  });
});

// In a time that no test waits for, where all of it is searched.
test('a long refusal is shown in part', async () => {
  for (const stage of ['MAIL', 'RCPT', 'DATA', '.'] as const) {
    const words = 'too many messages '.repeat(50_000);
    const { port } = await scripted({ [stage]: `452 ${words}` });
    const sink = await connect(port);
    const outcome = await sink.deliver(request(fields));
    expect(outcome).toMatchObject({ outcome: expect.stringMatching(/retry|unknown/) });
    expect(JSON.stringify(outcome).length).toBeLessThan(1500);
  }
});

test('a reply that nobody asked for is not taken for that to the next mail', async () => {
  const { port, commands } = await scripted({ '.': '250 taken\r\n550 5.1.1 No such user' });
  const sink = await connect(port);
  expect(await sink.deliver(request(fields))).toMatchObject({ outcome: 'delivered' });
  const second = await sink.deliver(request(fields));
  expect(second).toMatchObject({ outcome: expect.stringMatching(/delivered|retry/) });
  expect(commands.filter((command) => command === '.').length).toBe(second.outcome === 'delivered' ? 2 : 1);
});

test('a password that a server repeats is masked, at any stage', async () => {
  for (const stage of stages) {
    const secret = Buffer.from('\0ann\0a-secret-password').toString('base64');
    const { port } = await scripted({ [stage]: `550 5.7.0 not with a-secret-password or ${secret}` });
    const sink = await connect(port);
    const shown = JSON.stringify([
      await sink.deliver(request(fields)),
      await sink.check([], new AbortController().signal),
    ]);
    expect(shown).not.toContain('a-secret-password');
    expect(shown).not.toContain(secret);
  }
});

describe('STARTTLS', () => {
  test.for([
    [
      '454 4.7.0 TLS not available just now',
      /^The mail server answered: 454 4\.7\.0 TLS not available just now\.$/,
    ],
    ['502 What?', /does not encrypt \(STARTTLS\)/],
    ['250 sure', /./],
  ] as const)(
    'that the server takes back by %s is no reason to go on in the clear',
    async ([STARTTLS, detail]) => {
      for (const EHLO of [fair.EHLO, '250-mail.example.com\r\n250-STARTTLS\r\n250 AUTH PLAIN']) {
        const hangUp = (command: string, socket: Socket) =>
          void (command === 'STARTTLS' && STARTTLS.startsWith('250') && socket.end());
        const { port, commands } = await scripted({ EHLO, STARTTLS }, hangUp);
        const outcome = await (await connect(port, { requireTls: true })).deliver(request(fields));
        expect(outcome).toMatchObject({
          outcome: 'retry',
          sinkWide: true,
          detail: expect.stringMatching(detail),
        });
        expect(commands).not.toContain('AUTH');
        expect(commands).not.toContain('MAIL');
      }
    },
  );

  test('makes all forgotten that was said in the clear', async () => {
    const pair = selfSigned();
    const EHLO = '250-mail.example.com\r\n250-STARTTLS\r\n250 AUTH PLAIN';
    const injected = '250-mail.example.com\r\n250-AUTH CRAM-MD5\r\n250 SIZE 1\r\n250 x';
    const server = await scripted({ EHLO, STARTTLS: `220 go on\r\n${injected}` }, (command, socket) => {
      if (command !== 'STARTTLS' || socket instanceof TLSSocket) return;
      socket.removeAllListeners('data');
      server.speak(new TLSSocket(socket, { isServer: true, ...pair }));
    });
    const sink = await connect(server.port, { requireTls: false });
    expect(await sink.deliver(request(fields))).toMatchObject({
      outcome: 'delivered',
      receipt: { reply: '250 taken' },
    });
    expect(server.commands).toEqual([
      'CONNECT',
      'EHLO',
      'STARTTLS',
      'EHLO',
      'AUTH',
      'MAIL',
      'RCPT',
      'DATA',
      '.',
    ]);
  });
});
