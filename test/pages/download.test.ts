import { expect, test } from 'vitest';
import { openStore } from '../../src/store/open.ts';
import { arrival, configId, t0 } from '../contract/store-fixtures.ts';
import { openLoggedIn } from './browser.ts';
import { startPages } from './tools.ts';

const config = `
sinks: {}
rules: []
catalog: { 7: { name: '=HYPERLINK("http://evil.example", "Zoë")' } }
`;

test('the events of a search are downloaded as a table, however many, with no formula in it', async () => {
  const { app, folder, send, login } = await startPages(config);
  const store = await openStore(`sqlite:${folder}/connector.db`, { serve: false });
  await store.saveConfig({ id: configId, source: {}, savedAt: t0 });
  const came = Array.from({ length: 450 }, (_, n) => {
    const status = n % 2 === 0 ? 'Completed' : 'Canceled';
    return arrival(
      { candidateId: `=candidate-${n}`, testId: 7, status, receivedAt: t0 + n },
      { deliveries: [] },
    );
  });
  await Promise.all(came.map((one) => store.accept(one)));
  await store.close();

  expect((await send('/events.csv')).status).toBe(303);
  await login();
  const whole = await send('/events.csv');
  expect(whole.headers.get('content-type')).toBe('text/csv; charset=utf-8; header=present');
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(await whole.arrayBuffer());
  expect(text.startsWith('\u{feff}id,receivedAt,candidateId,')).toBe(true);
  const lines = text.split('\r\n');
  expect(lines).toHaveLength(452);
  expect(lines[1]).toContain(
    `,'=candidate-449,7,7,"'=HYPERLINK(""http://evil.example"", ""Zoë"")",Canceled,`,
  );
  const some = await (await send('/events.csv?status=Completed&candidate=%3Dcandidate-2')).text();
  expect(some.trimEnd().split('\r\n')).toHaveLength(2);
  // The day that they came on, and the days beside it.
  for (const [days, rows] of [
    ['from=2026-01-01&to=2026-01-01', 450],
    ['from=2026-01-02', 0],
    ['to=2025-12-31', 0],
  ] as const) {
    const found = await (await send(`/events.csv?${days}`)).text();
    expect(found.trimEnd().split('\r\n')).toHaveLength(rows + 1);
  }

  const page = await openLoggedIn(`${app.adminUrl}/events?status=Completed`);
  const coming = page.waitForEvent('download');
  await page.getByRole('link', { name: 'Download (CSV)' }).click();
  const file = await coming;
  expect(file.suggestedFilename()).toMatch(/^events-\d{4}-\d\d-\d\d\.csv$/);
  const chunks: string[] = [];
  for await (const chunk of await file.createReadStream()) chunks.push(String(chunk));
  expect(chunks.join('').trimEnd().split('\r\n')).toHaveLength(226);
});

test('semicolons part the cells where a comma begins the decimals', async () => {
  const { send, login } = await startPages(`locale: de-DE\n${config}`);
  await login();
  expect(await (await send('/events.csv')).text()).toMatch(/^id;receivedAt;candidateId;[^,]*\r\n$/);
});
