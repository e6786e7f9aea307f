import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { post, telling } from '../commands/tools.ts';
import { eventually } from '../fixtures/eventually.ts';

const rules = `rules:
  - { name: at-once, when: {}, then: [ { sink: ats } ] }
  - { name: together, when: {}, then: [ { sink: ats, digest: { every: 1s } } ] }
`;

test('the metrics say what was refused for what, what had to wait, what waits for a restart, and how old the backup is', async () => {
  const { app, folder, file, command, done } = await telling({ rules });
  const scrape = async () => (await fetch(`${app.adminUrl}/metrics`)).text();
  const value = async (sample: string) => {
    const name = `candidate_connector_${sample} `;
    const line = (await scrape()).split('\n').find((one) => one.startsWith(name));
    return line === undefined ? null : Number(line.slice(name.length));
  };
  await post(app, { candidateId: 'Dana' });
  await fetch(app.receiverUrl);
  for (const path of ['/a', '/b']) await fetch(`${app.receiverUrl}${path}`, { method: 'POST' });
  expect(await value('refused_total{reason="method"}')).toBe(1);
  expect(await value('refused_total{reason="path"}')).toBe(2);
  expect(await value('requests_total{result="refused"}')).toBe(3);
  expect(await value('refused_events{reason="path"}')).toBe(0);
  await post({ receiverUrl: `${app.receiverUrl}/moved` }, { candidateId: 'Robin' });
  expect(await value('refused_events{reason="path"}')).toBe(1);
  const kept = async () => (await command('events', '--refused')).out;
  await eventually(async () => expect(await kept()).toContain('Robin'));
  expect(await command('ignore', '--all')).toMatchObject({ code: 0 });
  expect(await value('refused_events{reason="path"}')).toBe(0);
  await done();
  const waited = (word: string) => value(`delivery_delay_seconds_count{sink="ats",waited="${word}"}`);
  await eventually(async () => expect([await waited('no'), await waited('yes')]).toEqual([1, 1]));
  expect(await value('sink_overdue_seconds{sink="ats"}')).toBe(0);

  expect(await value('last_backup_age_seconds')).toBe(null);
  expect(await command('backup', join(folder, 'backup.db'))).toMatchObject({ code: 0, err: '' });
  expect(await value('last_backup_age_seconds')).toBeLessThan(60);

  expect(await value('config_waits_for_restart')).toBe(0);
  await writeFile(
    file,
    (await readFile(file, 'utf8')).replace('admin: { port: 0 }', 'admin: { port: 8099 }'),
  );
  await eventually(async () => expect(await value('config_waits_for_restart')).toBe(1));
});
