import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { startApp } from '../../src/app.ts';
import { webhookConfig, webhookEnv } from '../config-file.ts';

/** The whole connector, with one webhook action for each event. Takes the folder for its files and the endpoint's URL. */

const [folder = '', endpoint = ''] = process.argv.slice(2);
const home = await mkdtemp(join(folder, 'connector-'));
const file = await webhookConfig(home, endpoint);
const app = await startApp(file, webhookEnv);
process.send?.({ port: Number(new URL(app.receiverUrl).port) });
