import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loud, serve, workplace } from './commands/tools.ts';

const fourSinks = `
sinks:
  slack: { connector: slack, token: "\${SECRET}" }
  sheet: { connector: google-sheets, credentials: "\${SECRET}", spreadsheetId: "1234567890" }
  mail: { connector: email, url: "smtp://127.0.0.1:25", from: hiring@example.com }
  ats: { connector: webhook, url: "https://ats.example.com/hooks" }
rules: []
`;

/** What Node says of the modules of one start, until the next is sure to find them compiled; then it is killed. */
async function modulesOf(file: string, cache: string) {
  const env = { SECRET: 'a-secret', NODE_COMPILE_CACHE: cache, NODE_DEBUG_NATIVE: 'COMPILE_CACHE' };
  const { connector } = await serve(file, env);
  const said = () => connector.lines.join('').split('\n');
  await expect.poll(() => said().findLast((line) => line.includes('src/main.ts'))).toMatch(/persist|writing/);
  await connector.kill();
  const compiled = said().filter((line) => line.includes('V8 code cache for'));
  return {
    names: compiled.map((line) => line.replace(/ was .*/, '')),
    anew: said().filter((line) => /V8 code cache .* was not|no transpile cache/.test(line)),
  };
}

test('a start loads nothing that is needed later, and leaves what it compiled to the next one, even if it is killed', async () => {
  const { folder, write } = await workplace();
  const file = await write('config.yaml', loud(folder) + fourSinks);
  const cache = join(folder, 'compiled');
  const first = await modulesOf(file, cache);
  expect(first.anew.length).toBeGreaterThan(300);
  const later =
    /node_modules\/(express|undici|nodemailer|pg|googleapis|@slack|html-to-text)\/|src\/(pages|scenarios|store\/postgres)\//;
  expect(first.names.filter((name) => later.test(name))).toEqual([]);
  const next = await modulesOf(file, cache);
  expect(next.names.length).toBeGreaterThan(300);
  expect(next.anew).toEqual([]);
});
