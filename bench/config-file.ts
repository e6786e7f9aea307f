import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Writes a config with one webhook for each event, and a store of its own if none is named, into the folder; returns its path. */
export async function webhookConfig(
  folder: string,
  endpoint: string,
  store = `sqlite:${join(folder, 'connector.db')}`,
): Promise<string> {
  const file = join(folder, 'config.yaml');
  await writeFile(
    file,
    `
receiver: { host: 127.0.0.1, port: 0, allowFrom: [127.0.0.1] }
store: { url: "${store}" }
admin: { port: 0 }
sinks:
  ats: { connector: webhook, url: "${endpoint}", secret: "\${BENCH_SECRET}", allowPrivate: true, concurrency: 100 }
rules:
  - name: all
    when: { status: Completed }
    then: [{ sink: ats }]
`,
  );
  return file;
}

const secret = Buffer.from('for the benchmark only').toString('base64');
export const webhookEnv = { BENCH_SECRET: `whsec_${secret}` };
