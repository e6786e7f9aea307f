import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';

const root = join(import.meta.dirname, '../..');

test('`npm run demo -- --once` shows what each tool received, and exits 0', async () => {
  const child = spawn('npm', ['run', 'demo', '--', '--once'], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [out, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  expect(code).toBe(0);
  const answers = [...out.matchAll(/^ {2}(\d{3}) \{/gm)].map(([, status]) => Number(status));
  expect(answers).toEqual([202, 202, 202, 202, 200, 200, 422]);
  expect(out).toMatch(/^Slack has 1 message\n {2}#hiring-backend: \*Backend Engineer, TypeScript\*/m);
  expect(out).toMatch(/^Google Sheets has 1 row\n {2}.* \| Backend Engineer, TypeScript \| .* \| Completed/m);
  expect(out).toContain('Email has 2 mails\n');
  expect(out).toContain('  to robin@example.com: Product Designer: 1 not assessed\n');
  expect(out).toMatch(/^Webhook has 3 calls\n {2}POST \/hooks {2}webhook-id dlv_/m);
  expect(out).toContain('Each of the 7 deliveries is there once.');
});

test('the demo stays up until Ctrl-C', async () => {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'demo.ts')], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const ended = once(child, 'exit');
  let out = '';
  for await (const chunk of child.stdout.setEncoding('utf8')) {
    out += String(chunk);
    if (!out.includes('Ctrl-C')) continue;
    const [, metrics = ''] = /Metrics: +(http\S+)/.exec(out) ?? [];
    expect(await (await fetch(metrics)).text()).toContain(
      'candidate_connector_requests_total{result="accepted"} 4',
    );
    child.kill('SIGINT');
    break;
  }
  const [err, [code]] = await Promise.all([text(child.stderr), ended]);
  expect({ code, err }).toEqual({ code: 0, err: '' });
});
