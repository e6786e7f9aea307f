import { appendFile, copyFile, glob, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { startTools } from '../../sandbox/tools.ts';
import { serve } from '../commands/tools.ts';
import { exampleChannels, exampleEnv, useAllTools } from '../fixtures/example.ts';
import { theProgram } from '../fixtures/program.ts';
import { root } from './dockerfile.ts';

test('the bundle does all that the source does: schema, connectors, pages and their files, threads', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'bundle-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const tools = await startTools(exampleChannels);
  onTestFinished(async () => void (await tools.close()));
  const main = await theProgram();
  expect(await readFile(main, 'utf8')).toMatch(/^#!.* node\n/);
  const wholes = await Array.fromAsync(glob(join(dirname(main), 'whole-*.js')));
  expect(wholes).toHaveLength(2);
  for (const whole of wholes) expect(await readFile(whole, 'utf8')).not.toMatch(/[^\0-\xff]/);
  const file = join(folder, 'config.yaml');
  await copyFile(join(root, 'config.example.yaml'), file);
  const env = { ...exampleEnv(tools, `sqlite:${folder}/connector.db`), ADMIN_PASSWORD: 'a long password' };
  const { connector, lines } = await serve(file, env);

  const { receiver, admin } = lines().find(({ msg }) => msg === 'ready') as unknown as Record<string, string>;
  await useAllTools(receiver!, tools);

  const headers = { authorization: `Basic ${btoa(':a long password')}` };
  const page = await (await fetch(`${admin}/`, { headers })).text();
  expect(page.match(/last success/g)).toHaveLength(4);
  const assets = page.match(/\/assets\/[^"]+/g)!.map((path) => path.replaceAll('&amp;', '&'));
  for (const path of assets) expect((await fetch(admin + path)).status).toBe(200);
  expect(assets.join()).toContain('page.css');

  const body = new URLSearchParams({ config: 'rules: []\nsinks: {}\n' });
  const tried = await fetch(`${admin}/rules/try`, { method: 'POST', headers, body });
  expect(await tried.text()).toMatch(/removed: ats/);

  await appendFile(file, '# changed\n');
  await connector.logs('"msg":"config reloaded"');
});
