import { expect, test } from 'vitest';
import { connectors } from '../../connectors/index.ts';
import { loadConfig } from '../../src/config/load.ts';
import { fingerprintsOf, inOne } from '../../src/deliveries/sinks/fingerprints.ts';
import { workplace } from '../commands/tools.ts';

const file = `sinks:
  slack: { connector: slack, token: '\${SLACK_BOT_TOKEN}' }
  mail: { connector: email, url: '\${SMTP_URL}', from: hiring@example.com }
rules: [{ name: all, when: {}, then: [{ sink: slack, channel: '#hiring' }, { sink: mail, to: a@example.com }] }]
`;
const env = { SLACK_BOT_TOKEN: 'xoxb-1-production', SMTP_URL: 'smtps://hiring:right@mail.example.com' };

async function fingerprints(changes: Record<string, string>, text = file) {
  const { write } = await workplace();
  const path = await write('config.yaml', text);
  return fingerprintsOf(await loadConfig(path, { env: { ...env, ...changes }, connectors }));
}

test('sinks that are called by other options or secrets have other fingerprints, and no others', async () => {
  const one = await fingerprints({});
  expect(await fingerprints({}, `# said otherwise\n${file}`)).toEqual(one);
  const token = await fingerprints({ SLACK_BOT_TOKEN: 'xoxb-2-staging' });
  expect(token.get('slack')).not.toBe(one.get('slack'));
  expect(token.get('mail')).toBe(one.get('mail'));
  for (const url of ['smtps://hiring:wrong@mail.example.com', 'smtps://hiring:right@staging.example.com'])
    expect((await fingerprints({ SMTP_URL: url })).get('mail')).not.toBe(one.get('mail'));
  expect(inOne(token)).not.toBe(inOne(one));
  // Of a secret no more than that may be known to whoever reads the store.
  for (const print of [...one.values(), inOne(one)]) expect(print).toMatch(/^[0-9a-f]{4}$/);
});
