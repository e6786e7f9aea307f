import type { Logger } from 'pino';
import type { Clock } from '../../support/clock.ts';
import { configError } from '../text/problems.ts';
import type { LiveConfig } from './live-config.ts';
import { provePolicies, type ReloadOptions } from './reload.ts';

interface ProvingParts extends ReloadOptions {
  readonly log: Logger;
  readonly clock: Pick<Clock, 'now'>;
  /** Called where a policy does not hold. */
  readonly broken: () => void;
}

/** Proves the policies of the config that a start has put in force; reloads wait for that. Never throws. */
export async function proveAtStart(
  live: LiveConfig,
  text: string,
  { log, clock, broken, ...options }: ProvingParts,
): Promise<void> {
  const { file, policies } = live.config;
  if (policies.length === 0) return;
  try {
    const problems = await provePolicies(text, file, options);
    const errors = problems.filter(({ severity }) => severity === 'error');
    for (const one of problems) {
      const { line, column, message } = one;
      const said = errors.includes(one) ? `the config in force breaks a policy: ${message}` : message;
      log.warn({ file, line, column }, said);
    }
    if (errors.length === 0) return;
    live.breaks(configError(file, errors), clock.now());
    broken();
  } catch (err) {
    if (!options.signal?.aborted) log.warn({ err }, 'it could not be found out whether the policies hold');
  }
}
