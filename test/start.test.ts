import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { loud, workplace } from './commands/tools.ts';
import { main } from './fixtures/program.ts';

const fourSinks = `
sinks:
  slack: { connector: slack, token: "\${SECRET}" }
  sheet: { connector: google-sheets, credentials: "\${SECRET}", spreadsheetId: "1234567890" }
  mail: { connector: email, url: "smtp://127.0.0.1:25", from: hiring@example.com }
  ats: { connector: webhook, url: "https://ats.example.com/hooks" }
rules: []
`;

const debug = { NODE_DEBUG_NATIVE: 'COMPILE_CACHE' };

const compiledAnew = (said: readonly string[]) =>
  said.filter((line) => /V8 code cache .* was not|no transpile cache/.test(line));

/** What Node says of the modules of one start, which is killed as soon as it is ready. */
async function modulesOf(file: string, cache: string) {
  const env = { ...process.env, SECRET: 'a-secret', NODE_COMPILE_CACHE: cache, ...debug };
  // A pipe that is full would lose some of it.
  const report = await open(`${file}.report`, 'w');
  const child = spawn(process.execPath, [main, 'serve', '--config', file], {
    env,
    stdio: ['ignore', 'pipe', report.fd],
  });
  for await (const line of createInterface(child.stdout!)) if (line.includes('"msg":"ready"')) break;
  child.kill('SIGKILL');
  await Promise.all([once(child, 'exit'), report.close()]);
  const said = (await readFile(`${file}.report`, 'utf8')).split('\n');
  return { names: said.filter((line) => line.includes('V8 code cache for')), anew: compiledAnew(said) };
}

test('a start loads nothing that is needed later, and leaves what it compiled to the next one, even if it is killed', async () => {
  const { folder, write } = await workplace();
  const file = await write('config.yaml', loud(folder) + fourSinks);
  const cache = join(folder, 'compiled');
  const first = await modulesOf(file, cache);
  expect(first.anew.length).toBeGreaterThan(300);
  const later =
    /node_modules\/(express|undici|nodemailer|pg|googleapis|@slack|html-to-text|@opentelemetry)\/|pushgateway|zod\/v4\/locales\/(?!en)|src\/(pages|scenarios|store\/postgres)\//;
  expect(first.names.filter((name) => later.test(name))).toEqual([]);
  const next = await modulesOf(file, cache);
  expect(next.names.length).toBeGreaterThan(300);
  expect(next.anew).toEqual([]);
});

test('a command uses what an earlier one compiled, also where nobody says where that is', async () => {
  const options = { env: { PATH: process.env['PATH'], ...debug }, maxBuffer: 10_000_000 };
  const help = async () =>
    (await promisify(execFile)(process.execPath, [main, 'check', '--help'], options)).stderr;
  await help();
  const said = (await help()).split('\n');
  expect(said.filter((line) => line.includes('was accepted')).length).toBeGreaterThan(100);
  expect(compiledAnew(said)).toEqual([]);
});
