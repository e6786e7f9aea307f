import { writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { base, post, run, serving, workplace } from '../commands/tools.ts';
import { freshSchema } from '../fixtures/postgres.ts';
import { asBrowser, wordsOf } from './tools.ts';
import { eventually } from '../fixtures/eventually.ts';

const rules = (name: string) =>
  `sinks: { ats: { connector: webhook, url: 'https://ats.example.com' } }\nrules: [ { name: ${name}, when: {}, then: [ { sink: ats } ] } ]\n`;
const patience = { timeout: 20_000, interval: 200 };

test('the pages of each replica say that their configs differ, and which one refused its file', async () => {
  const { folder, write } = await workplace();
  const onPostgres = base(folder).replace(/sqlite:[^"]+/, await freshSchema());
  const files = [
    await write('one.yaml', onPostgres + rules('told')),
    await write('two.yaml', onPostgres + rules('others')),
  ];
  const pages: ReturnType<typeof asBrowser>[] = [];
  for (const file of files) pages.push(asBrowser(await serving(file)));
  const reads = (path: string, check: (words: string) => void) =>
    Promise.all(
      pages.map(({ page }) =>
        eventually(async () => check(wordsOf(await page(path)).replaceAll(/\s+/g, ' ')), patience),
      ),
    );
  for (const path of ['/', '/rules'])
    await reads(path, (words) =>
      expect(words).toMatch(/The replicas run different configs: \S+\.yaml on \S+ \d+ \w+, \S+\.yaml on /),
    );

  await writeFile(files[1]!, `${onPostgres}rules: [\n`);
  const byOne =
    /The changed config was refused at \d\d:\d\d on \S+ \d+ \w+: .*two\.yaml:.*check --config \S+two\.yaml there shows all that is wrong/;
  for (const path of ['/', '/attention', '/rules'])
    await reads(path, (words) => expect(words).toMatch(byOne));

  await writeFile(files[1]!, onPostgres + rules('told'));
  await reads('/', (words) => expect(words).not.toMatch(/different configs|was refused/));
}, 90_000);

test('the same file whose sinks are given something else counts as another config', async () => {
  const { folder, write } = await workplace();
  const onPostgres = base(folder).replace(/sqlite:[^"]+/, await freshSchema());
  const given = (token: string) =>
    onPostgres + rules('told').replace("' }", `', headers: { Authorization: 'Bearer ${token}' } }`);
  const pages: ReturnType<typeof asBrowser>[] = [];
  for (const token of ['of-production', 'of-staging'])
    pages.push(asBrowser(await serving(await write(`${token}.yaml`, given(token)))));
  for (const { page } of pages)
    await eventually(
      async () => expect(wordsOf(await page('/'))).toContain('The replicas run different configs'),
      patience,
    );
});

test('where a sink is down it is said which replica calls it, as the others may reach the tool', async () => {
  const { folder, write } = await workplace();
  const onPostgres = base(folder).replace(/sqlite:[^"]+/, await freshSchema());
  const file = await write(
    'config.yaml',
    onPostgres +
      rules('told')
        .replace('https://ats.example.com', 'http://127.0.0.1:1')
        .replace("' }", "', allowPrivate: true }"),
  );
  const one = await serving(file);
  const other = await serving(file);
  for (let n = 1; n < 20; n += 1) await post(one, { candidateId: `candidate-${n}` });
  const words =
    /Replica \S+ \d+ \w+ makes its calls\. Where others can reach the tool, stop that one: another takes over\./;
  await eventually(
    async () => expect((await run(['status', '--config', file])).out).toMatch(words),
    patience,
  );
  for (const { page } of [one, other].map(asBrowser))
    for (const path of ['/', '/attention', '/sinks/ats'])
      await eventually(
        async () => expect(wordsOf(await page(path)).replaceAll(/\s+/g, ' ')).toMatch(words),
        patience,
      );
  await other.stop();
  await eventually(
    async () => expect((await run(['status', '--config', file])).out).not.toMatch(/makes its calls/),
    patience,
  );
}, 90_000);
