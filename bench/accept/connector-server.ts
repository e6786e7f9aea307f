import { mkdtemp, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { connectors } from '../../connectors/index.ts';
import { createMetrics } from '../../src/admin/metrics.ts';
import { loadConfig } from '../../src/config/load.ts';
import { createIntake } from '../../src/intake.ts';
import { listen } from '../../src/http/listen.ts';
import { createLogger } from '../../src/ops/log.ts';
import { CallerTokens } from '../../src/config/live/caller-tokens.ts';
import { createReceiver } from '../../src/receiver/server.ts';
import { openStore } from '../../src/store/open.ts';

/**
 * The connector's way in, as `serve` joins it: receiver, rules, store, log and metrics, with one rule that matches and one delivery for
 * each event. Only the deliveries are not carried out, so that it is accepting that is measured. Takes the folder for its
 * files, and the store's URL if it is not SQLite in that folder.
 */

const [folder = '', url] = process.argv.slice(2);
const file = join(await mkdtemp(join(folder, 'store-')), 'config.yaml');
await writeFile(
  file,
  `
receiver: { host: 127.0.0.1, port: 0, allowFrom: [127.0.0.1] }
store: { url: "${url ?? `sqlite:${join(file, '..', 'connector.db')}`}" }
sinks:
  ats: { connector: webhook, url: "https://ats.example.com/hooks" }
rules:
  - name: all
    when: { status: Completed }
    then: [{ sink: ats }]
`,
);
const config = await loadConfig(file, { env: {}, connectors });
const { log } = createLogger({ ...config.log, color: false, mask: (line) => config.mask(line) });
const store = await openStore(config.store.url, { serve: true });
await store.saveConfig({ id: config.plan.id, source: config.planSource, savedAt: Date.now() });
const { receiver } = createReceiver({
  config: () => config.receiver,
  tokens: new CallerTokens(config.receiver.token),
  inbox: createIntake({ store, config: () => config, log }),
  log,
  metrics: createMetrics(store),
  readiness: async () => [],
});
await listen(receiver, config.receiver);
process.send?.({ port: (receiver.address() as AddressInfo).port });
