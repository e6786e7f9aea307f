import { spawn } from 'node:child_process';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../test/fixtures/free-port.ts';

/**
 * Alertmanager with one webhook, which it calls for each alert by itself and at once. It keeps alerts in memory. Takes the endpoint's
 * URL, the folder for its files, and the program.
 */

const [endpoint = '', folder = '', program = ''] = process.argv.slice(2);
const home = await mkdtemp(join(folder, 'alertmanager-'));
await writeFile(
  join(home, 'alertmanager.yml'),
  `
route: { receiver: ats, group_by: ['...'], group_wait: 0s, group_interval: 1h, repeat_interval: 24h }
receivers:
  - name: ats
    webhook_configs: [{ url: '${endpoint}', send_resolved: false }]
`,
);
const address = `127.0.0.1:${await freePort()}`;
const alertmanager = spawn(
  program,
  [
    `--config.file=${join(home, 'alertmanager.yml')}`,
    `--storage.path=${join(home, 'data')}`,
    `--web.listen-address=${address}`,
    // No copies.
    '--cluster.listen-address=',
    '--log.level=error',
  ],
  // As many as there are cores for it.
  { stdio: 'inherit', env: { ...process.env, GOMAXPROCS: '1' } },
);
alertmanager.once('exit', (code) => process.exit(code ?? 0));
process.once('SIGTERM', () => alertmanager.kill());

const isReady = () =>
  fetch(`http://${address}/-/ready`).then(
    ({ ok }) => ok,
    () => false,
  );
while (!(await isReady())) await sleep(20);
process.send?.({ port: Number(address.split(':')[1]) });
