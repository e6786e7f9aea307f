import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { startApp } from '../../src/app.ts';
import { webhookConfig, webhookEnv } from '../config-file.ts';

/**
 * The whole connector, with one webhook action for each event. Takes the endpoint's URL, the folder for its files, and the store's URL if it is not
 * SQLite in that folder.
 */

const [endpoint = '', folder = '', store] = process.argv.slice(2);
const home = await mkdtemp(join(folder, 'connector-'));
const file = await webhookConfig(home, endpoint, store);
const app = await startApp(file, webhookEnv);
process.send?.({ port: Number(new URL(app.receiverUrl).port) });
// So that the next one on the same store finds all outcomes recorded, and the leases free.
process.once('SIGTERM', () => void app.stop().then(() => process.exit()));
