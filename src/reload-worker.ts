import { parentPort, workerData } from 'node:worker_threads';
import { connectors } from '../connectors/index.ts';
import { checkReload, type ReloadQuestion } from './reload.ts';

// Nobody asks where the module is only read, to be compiled.
// oxlint-disable-next-line require-post-message-target-origin -- that is of browsers
parentPort?.postMessage(checkReload(workerData as ReloadQuestion, connectors));
