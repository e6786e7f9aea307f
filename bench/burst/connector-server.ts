import { mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startApp } from '../../src/app.ts';

/** The whole connector, with one webhook action for each event. Takes the folder for its files and the endpoint's URL. */

const [folder = '', endpoint = ''] = process.argv.slice(2);
const home = await mkdtemp(join(folder, 'connector-'));
const file = join(home, 'config.yaml');
await writeFile(
  file,
  `
receiver: { host: 127.0.0.1, port: 0, allowFrom: [127.0.0.1] }
store: { url: "sqlite:${join(home, 'connector.db')}" }
admin: { port: 0 }
sinks:
  ats: { connector: webhook, url: "${endpoint}", secret: "\${BENCH_SECRET}", allowPrivate: true, concurrency: 100 }
rules:
  - name: all
    when: { status: Completed }
    then: [{ sink: ats }]
`,
);
const secret = `whsec_${Buffer.from('for the benchmark only').toString('base64')}`;
const app = await startApp(file, { BENCH_SECRET: secret });
process.send?.({ port: Number(new URL(app.receiverUrl).port) });
