import { once } from 'node:events';
import { startApp } from '../app.ts';
import { takeHandedOver } from '../http/listen.ts';
import { exit, type Io } from './output.ts';
import type { ConfigOption } from './with-store.ts';

/** Receives and delivers until SIGTERM or SIGINT, or until its store's files are gone; ends the process after a clean stop. */
export async function serve(options: ConfigOption, io: Io): Promise<never> {
  const signalled = Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT')]);
  const app = await startApp(options.config, io.env, takeHandedOver(process.env, process.pid));
  const code = await Promise.race([signalled.then(() => exit.ok), app.damaged.then(() => exit.problems)]);
  await app.stop();
  // What stdout does not take would keep the process from its end, and so would a connection whose other side is gone.
  process.exit(code);
}
