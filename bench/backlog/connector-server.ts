import { connectors } from '../../connectors/index.ts';
import { startApp } from '../../src/app.ts';
import { loadConfig } from '../../src/config/load.ts';
import { createIntake } from '../../src/intake.ts';
import { createLogger } from '../../src/ops/log.ts';
import { openStore } from '../../src/store/open.ts';
import { webhookConfig, webhookEnv } from '../config-file.ts';

/**
 * The whole connector, with a backlog of events that each have one webhook to go. Takes the endpoint's URL, the folder for its files
 * and how many events the backlog has; tells its addresses when it drains.
 */

const [endpoint = '', folder = '', backlog = ''] = process.argv.slice(2);
const file = await webhookConfig(folder, endpoint);
await fill(Number(backlog));
const app = await startApp(file, webhookEnv);
process.send?.({ port: Number(new URL(app.receiverUrl).port), metrics: `${app.adminUrl}/metrics` });

/** As when all of them had come in an outage of the endpoint. */
async function fill(count: number): Promise<void> {
  const config = await loadConfig(file, { env: webhookEnv, connectors });
  const { log } = createLogger({ ...config.log, color: false, mask: (line) => config.mask(line) });
  const store = await openStore(config.store.url, { serve: true });
  await store.saveConfig({ id: config.plan.id, source: config.planSource, savedAt: Date.now() });
  const inbox = createIntake({ store, config: () => config, log });
  let left = count;
  const keepAccepting = async () => {
    while (left > 0) {
      left -= 1;
      const candidateId = `backlog-${left}`;
      const event = {
        candidateId,
        candidateNumericalId: null,
        testId: 1_234_567,
        status: 'Completed' as const,
      };
      await inbox.accept({
        event,
        raw: event,
        correlationId: candidateId,
        traceparent: null,
        receivedAt: Date.now(),
      });
    }
  };
  await Promise.all(Array.from({ length: 500 }, keepAccepting));
  await store.close();
}
