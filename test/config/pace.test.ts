import { expect, test } from 'vitest';
import { connectors } from '../../connectors/index.ts';
import { parseConfig } from '../../src/config/load.ts';

const paces = (more = '') => {
  const text = `sinks:
  slack: { connector: slack, token: "\${TOKEN}" ${more} }
  sheet: { connector: google-sheets, spreadsheetId: s1, credentials: /run/google.json ${more} }
  mail: { connector: email, url: smtp://mail.example.com, from: hiring@example.com ${more} }
  ats: { connector: webhook, url: https://ats.example.com ${more} }
rules: []`;
  const { sinks } = parseConfig(text, 'config.yaml', { env: { TOKEN: 'xoxb-1' }, connectors });
  return Object.fromEntries([...sinks].map(([name, { pace }]) => [name, pace]));
};

test("a sink keeps to its tool's known limits, or has none", () => {
  expect(paces()).toEqual({
    slack: { count: 1, perMs: 1000, burst: 3 },
    sheet: { count: 50, perMs: 60_000, burst: 1 },
    mail: null,
    ats: null,
  });
});

test('a rate in the config stands in for them, evenly', () => {
  const pace = { count: 300, perMs: 3_600_000, burst: 1 };
  expect(paces(', rate: 300/h')).toEqual({ slack: pace, sheet: pace, mail: pace, ats: pace });
});
