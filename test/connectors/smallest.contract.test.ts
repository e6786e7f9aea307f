import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { connectors } from '../../connectors/index.ts';
import type { AnyConnector } from '../../src/connector.ts';
import { post, run, settled, workplace } from '../commands/tools.ts';
import { connectorContract } from '../contract/connector.ts';
import { main } from '../fixtures/program.ts';
import { teams } from '../fixtures/smallest-connector.ts';
import { startPages } from '../pages/tools.ts';
import { HttpTool } from '../../sandbox/http-tool.ts';

// What `connectors/index.ts` would have for it. Commands and pages look there, and nowhere else.
const known = connectors as Map<string, AnyConnector>;
beforeAll(() => void known.set(teams.name, teams));
afterAll(() => void known.delete(teams.name));

const token = 'secret-of-the-test';

async function startTeams() {
  const posts = new Map<string, string>();
  const sandbox = new HttpTool({
    nameOf: ({ method }) => method,
    answer({ method, url, body }) {
      const id = url.pathname.replace('/posts/', '');
      if (method === 'POST') posts.set(id, (JSON.parse(body) as { text: string }).text);
      return { status: 200, body: posts.has(id) ? { id } : {} };
    },
    tooMany: {},
  });
  await sandbox.start();
  return { sandbox, posts };
}

connectorContract('teams', async () => {
  const { sandbox, posts } = await startTeams();
  return {
    connector: teams,
    sandbox,
    options: (authority) => ({
      url: authority ? `https://${authority}/posts` : `http://${sandbox.authority}/posts`,
      token,
    }),
    secrets: [token],
    fields: { team: 'Hiring', text: 'Candidate 42 completed the test.' },
    place: ['text'],
    calls: ['POST'],
    meanings: { 401: { outcome: 'retry', reason: 'auth' } },
    trace: /^the post [\w-]+$/,
    link: expect.stringMatching(/^https:\/\/teams\.example\.com\/[\w-]+$/),
    statesDelay: true,
    finds: true,
    proxied: true,
    received: async () => [...posts.keys()],
    shown: async (id) => posts.get(id),
  };
});

test('what it says of itself is on the page of an event, in init, and in forget', async () => {
  const { sandbox } = await startTeams();
  const { app, page, login, file } = await startPages(`
sinks: { hiring: { connector: teams, url: 'http://${sandbox.authority}/posts', token: ${token} } }
rules: [ { name: told, when: {}, then: [ { sink: hiring, team: Backend, text: '<b>{{ event.status }}</b>' } ] } ]
`);
  const { eventId } = await post(app, { candidateId: 'Dana' });
  await settled(file);
  await login();
  const shown = await page(`/events/${eventId}`);
  expect(shown).toContain('<div class="where">Backend</div>');
  expect(shown).toContain('<div class="message">&lt;b&gt;Completed&lt;/b&gt;</div>');
  const id = `dlv_${eventId.slice(4)}_1`;
  expect(shown).toMatch(new RegExp(`<a href="https://teams.example.com/${id}"[^>]*>Open in Teams</a>`));
  expect((await run(['forget', 'Dana', '--dry-run', '--config', file])).out).toContain(
    `  hiring: the post ${id}\n`,
  );
  await sandbox.close();
  // The options of `init` are those of the tools that were there when it was loaded.
  const { folder } = await workplace();
  const at = (path: string) => JSON.stringify(new URL(path, import.meta.url).href);
  const imports = `import { connectors } from ${at('../../connectors/index.ts')};
    import { teams } from ${at('../fixtures/smallest-connector.ts')}; connectors.set('teams', teams);`;
  const argv = ['init', '--out', `${folder}/new.yaml`, '--tools', 'teams', '--team', 'Backend'];
  const { stderr } = await promisify(execFile)(process.execPath, [
    `--import=data:text/javascript,${encodeURIComponent(imports)}`,
    main,
    ...argv,
  ]);
  expect(stderr).toBe('');
  expect(await readFile(`${folder}/new.yaml`, 'utf8')).toContain('- { sink: teams, team: "Backend" }');
});
