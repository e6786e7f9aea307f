import { expect, test } from 'vitest';
import { connectors } from '../../connectors/index.ts';
import { loadConfig } from '../../src/config/load.ts';
import { fingerprintOf } from '../../src/deliveries/sinks/fingerprint.ts';
import { workplace } from '../commands/tools.ts';

const file = `sinks:
  slack: { connector: slack, token: '\${SLACK_BOT_TOKEN}' }
  mail: { connector: email, url: '\${SMTP_URL}', from: hiring@example.com }
rules: [{ name: all, when: {}, then: [{ sink: slack, channel: '#hiring' }, { sink: mail, to: a@example.com }] }]
`;
const env = { SLACK_BOT_TOKEN: 'xoxb-1-production', SMTP_URL: 'smtps://hiring:right@mail.example.com' };

async function fingerprint(changes: Record<string, string>, text = file) {
  const { write } = await workplace();
  const path = await write('config.yaml', text);
  return fingerprintOf(await loadConfig(path, { env: { ...env, ...changes }, connectors }));
}

test('the fingerprint is another one where a sink is called by other options or secrets, and only there', async () => {
  const one = await fingerprint({});
  // Of a secret no more than that may be known to whoever reads the store.
  expect(one).toMatch(/^[0-9a-f]{4}$/);
  expect(await fingerprint({}, `# said otherwise\n${file}`)).toBe(one);
  expect(await fingerprint({ SLACK_BOT_TOKEN: 'xoxb-2-staging' })).not.toBe(one);
  for (const url of ['smtps://hiring:wrong@mail.example.com', 'smtps://hiring:right@staging.example.com'])
    expect(await fingerprint({ SMTP_URL: url })).not.toBe(one);
});
