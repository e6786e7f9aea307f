import { once } from 'node:events';
import { takeHandedOver } from '../../http/listen.ts';
import { command, configFile } from '../command.ts';
import { exit } from '../output.ts';

/** Receives and delivers until SIGTERM or SIGINT, or until its store's files are gone; ends the process after a clean stop. */
export const serve = command({
  name: 'serve',
  description: 'receive and deliver until SIGTERM',
  examples: ['serve --config config.yaml'],
  argument: configFile,
  async run({ config }, { env }): Promise<never> {
    const { startApp } = await import('../../app.ts');
    const signalled = Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT')]);
    const app = await startApp(config, env, takeHandedOver(process.env, process.pid));
    const code = await Promise.race([signalled.then(() => exit.ok), app.damaged.then(() => exit.problems)]);
    await app.stop();
    // What stdout does not take would keep the process from its end, and so would a connection whose other side is gone.
    process.exit(code);
  },
});
