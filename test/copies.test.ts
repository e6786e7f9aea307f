import { expect, onTestFinished, test, vi } from 'vitest';
import { post as postTo } from './activated.ts';
import { base, endpoint, workplace } from './commands/tools.ts';
import { ConnectorProcess } from './faults/connector-process.ts';
import { freshSchema } from './fixtures/postgres.ts';
import type { HttpSandbox } from './sandbox/http.ts';

const longer = 50_000;

/** Starts a copy that runs until the test ends. `delay`: how long it goes on answering at a stop. */
async function started(url: string | null, tool: HttpSandbox, delay: string) {
  const { folder, write } = await workplace();
  const store = url === null ? base(folder) : base(folder).replace(/"sqlite:.*"/, `"${url}"`);
  const sinks = ['one', 'two'].map(
    (name) => `  ${name}: { connector: webhook, url: "${tool.url}", allowPrivate: true, timeout: 1s }\n`,
  );
  const file = await write(
    'config.yaml',
    `${store.replace('fatal', 'info')}shutdown: { delay: ${delay} }\nsinks:\n${sinks.join('')}` +
      'rules: [{ name: all, when: {}, then: [{ sink: one }, { sink: two }] }]\n',
  );
  const copy = new ConnectorProcess(file);
  onTestFinished(() => copy.kill());
  const address = await copy.start();
  return {
    copy,
    post: () => postTo({ host: '127.0.0.1', port: Number(new URL(address).port) }),
    readiness: async () => {
      const response = await fetch(new URL('/readyz', address));
      return { status: response.status, body: await response.json() };
    },
    logs: (text: string, times: number) =>
      vi.waitFor(
        () => expect(copy.lines.filter((line) => line.includes(text)).length).toBeGreaterThanOrEqual(times),
        longer,
      ),
  };
}

test('one of several copies is unready before it stops, and answers on, while another one takes over', async () => {
  const tool = await endpoint();
  const url = await freshSchema();
  const first = await started(url, tool, '8s');
  const second = await started(url, tool, '10m');
  await second.logs('"msg":"taken', 2);
  const stopped = first.copy.stop();
  await vi.waitFor(async () => expect((await first.readiness()).status).toBe(503), longer);
  expect((await first.readiness()).body).toMatchObject({
    parts: expect.arrayContaining([
      { part: 'copy', ok: false, detail: 'It is stopping. Other copies go on.' },
    ]),
  });
  await second.logs('"msg":"taken', 4);
  expect(await first.post()).toBe(202);
  await vi.waitFor(() => expect(tool.calls).toHaveLength(2), longer);
  expect((await second.readiness()).status).toBe(200);
  expect(await stopped).toBe(0);
  // It is alone from then on, and waits for nobody.
  await second.logs('"copies":1,', 1);
  expect(await second.copy.stop()).toBe(0);
});

test.each(['SQLite', 'PostgreSQL'])(
  'a single copy on %s stays ready until it stops, and does not wait',
  async (kind) => {
    const tool = await endpoint();
    const { copy, post, readiness } = await started(
      kind === 'SQLite' ? null : await freshSchema(),
      tool,
      '10m',
    );
    tool.faults.decide = () => ({ kind: 'hang', commit: true });
    expect(await post()).toBe(202);
    await vi.waitFor(() => expect(tool.calls).toHaveLength(2), longer);
    const logged = copy.logs('"msg":"stopping"');
    const stopped = copy.stop();
    await logged;
    expect((await readiness()).status).toBe(200);
    expect(await stopped).toBe(0);
  },
);
