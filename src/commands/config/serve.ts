import { flushCompileCache } from 'node:module';
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
    // Names are looked up by half of these threads, 2 of the usual 4. Those that no DNS answers for would keep all other sinks waiting.
    process.env['UV_THREADPOOL_SIZE'] ??= '32';
    // The config's watcher listens to it. Before and after that, it would end the process.
    process.on('SIGHUP', () => {});
    // Other servers open their logs again at these. Node opens its debugger at one, to all users of the machine, and ends at the other.
    for (const signal of ['SIGUSR1', 'SIGUSR2']) process.on(signal, () => {});
    const signalled = stopSignal();
    const { startApp } = await import('../../app.ts');
    const app = await startApp(config, env, takeHandedOver(process.env, process.pid));
    // The next start can use what this one compiled, however this one ends.
    flushCompileCache();
    const code = await Promise.race([signalled.then(() => exit.ok), app.damaged.then(() => exit.problems)]);
    await app.stop();
    // Output that stdout does not take would keep the process alive, as would a connection whose other side is gone.
    process.exit(code);
  },
});

const stopSignals = ['SIGTERM', 'SIGINT'] as const;
const repeatsWithinMs = 1000;

/** Resolves at the first stop signal. npm passes on a Ctrl-C that this process has got, too; a later one ends the process at once. */
function stopSignal(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const stop = (): void => {
    resolve();
    setTimeout(() => {
      for (const signal of stopSignals) process.off(signal, stop);
    }, repeatsWithinMs).unref();
  };
  for (const signal of stopSignals) process.on(signal, stop);
  return promise;
}
