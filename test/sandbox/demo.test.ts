import { exec, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { eventually } from '../fixtures/eventually.ts';

const root = join(import.meta.dirname, '../..');
const files = {
  demo: 'sandbox/demo.ts',
  bench: 'bench/run.ts',
  faults: 'test/faults/run.ts',
  simulate: 'test/simulation/run.ts',
  screens: 'sandbox/pictures/screens.ts',
};
type Script = keyof typeof files;

test('`npm run demo -- --once` shows what each tool received, and exits 0', async () => {
  const { scripts } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as {
    scripts: { demo: string };
  };
  expect(scripts.demo).toBe('node src/support/npm/run.js sandbox/demo.ts');
  const { code, out } = await demo('--once');
  expect(code).toBe(0);
  // First, so that what happens can be followed there.
  expect(out).toMatch(/^The operations page, with the password \S+\n {2}http:\S+\n\n▸ /m);
  const answers = [...out.matchAll(/^ {2}(\d{3}) \{/gm)].map(([, status]) => Number(status));
  expect(answers).toEqual([202, 202, 202, 202, 200, 200, 422]);
  expect(out).toMatch(
    /^Slack has 1 message\n {2}#hiring-backend\n {4}🏁 Ana Kovač completed Backend Engineer, TypeScript: 52% \| Open report\n/m,
  );
  expect(out).toMatch(
    /^Google Sheets has 1 row\n {2}.* \| Backend Engineer, TypeScript \| .* \| Completed .* \| Ana Kovač \| 52 \| https:/m,
  );
  expect(out).toContain('Email has 2 mails\n');
  expect(out).toMatch(
    /^ {2}to robin@example.com: Product Designer: candidate 0a9b8c7d… did not take the test \(in HTML, and as text\)\n {4}Product Designer: .*\n {4}Received .*\n\n {4}https:/m,
  );
  expect(out).toMatch(/^Webhook has 3 calls\n {2}POST \/hooks {2}webhook-id dlv_/m);
  expect(out).toContain('Each of the 7 deliveries is there once.');
});

test('the demo stays up until Ctrl-C, shows what arrives, and names commands that work', async () => {
  const child = spawn(process.execPath, [join(root, 'sandbox/demo.ts')], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const ended = once(child, 'exit');
  let out = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (out += chunk));
  await eventually(() => expect(out).toContain('Ctrl-C'), 60_000);
  const { groups: named } =
    /(?<send>npx .* send .*)\n.*\n +(?<events>.* events .*)\nThe operations page, with the password (?<password>\S+)\n +(?<page>\S+)\nMetrics, .*:\n +(?<metrics>\S+)/.exec(
      out,
    ) ?? {};
  await runInShell(`${named?.['send']} --test 2345678`);
  await eventually(() => expect(out).toMatch(/^Slack has one more message\n {2}#hiring-design$/m), 60_000);
  expect(await runInShell(named?.['events'] ?? '')).toContain('DidNotTake  test 2345678');
  const authorization = `Basic ${Buffer.from(`me:${named?.['password']}`).toString('base64')}`;
  const page = await fetch(named?.['page'] ?? '', { headers: { accept: 'text/html', authorization } });
  expect(await page.text()).toContain('<h1>Today</h1>');
  expect(await (await fetch(named?.['metrics'] ?? '', { headers: { authorization } })).text()).toContain(
    'candidate_connector_requests_total{result="accepted"} 5',
  );
  expect((await fetch(named?.['metrics'] ?? '')).status).toBe(401);
  child.kill('SIGINT');
  const [err, [code]] = await Promise.all([text(child.stderr), ended]);
  expect({ code, err }).toEqual({ code: 0, err: '' });
});

/**
 * With the environment of a terminal that knows no credentials. That `npx node` is the project's Node is tried with the README's
 * lines: npx itself takes longer than what it runs.
 */
async function runInShell(line: string): Promise<string> {
  expect(line).toMatch(/^npx node /);
  const { stdout } = await promisify(exec)(line.replace('npx node', `'${process.execPath}'`), { cwd: root });
  return stdout;
}

test.each([
  ['demo', '--once foo', "Unexpected argument 'foo'"],
  ['demo', '--outage 5', '--outage goes with --burst'],
  ['demo', '--burst many', '--burst many: a whole number'],
  ['bench', '--round 1', "Unknown option '--round'"],
  ['bench', 'rule', 'There is no benchmark rule; there are accept, '],
  ['faults', '--round 1', "Unknown option '--round'"],
  ['faults', '--rounds ten', '--rounds ten: a whole number'],
  ['simulate', '--seed', "Option '--seed <value>' argument missing"],
  ['simulate', '--store mysql', '--store mysql: sqlite or postgres'],
  ['screens', '', 'Say into which folder.'],
  ['screens', 'here faling', 'There is no state faling.'],
] as const)('`npm run %s -- %s` is told what it takes', async (script, args, message) => {
  const { code, out, err } = await called(script, args);
  expect({ code, out }).toEqual({ code: 2, out: '' });
  expect(err).toContain(message);
  expect(err).toContain(`\nUsage: npm run ${script} -- `);
  expect(err).not.toMatch(/^ +at /m);
});

// All read their options by one function.
test('`npm run simulate -- --help` says what it takes', async () => {
  expect(await called('simulate', '--help')).toEqual({
    code: 0,
    out: expect.stringMatching(/^Usage: npm run simulate -- /),
    err: '',
  });
});

const demo = (args: string) => called('demo', args);

async function called(script: Script, args: string) {
  const given = args.split(' ').filter(Boolean);
  const child = spawn(process.execPath, [join(root, files[script]), ...given], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  return { code: code as number, out, err };
}
