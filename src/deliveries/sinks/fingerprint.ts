import { hash } from 'node:crypto';
import type { Config } from '../../config/config.ts';
import { findSecrets } from '../../support/secret.ts';

type Sinks = Pick<Config, 'sinks' | 'lookups'>;

/** So few, as others may read the store: they leave a guessed password as one of many. One difference in 65,536 is not seen. */
const digits = 4;

const known = new WeakMap<Sinks, string>();

/**
 * Tells by which options, secrets among them, a process calls its sinks and look-ups, in hexadecimal digits. Two processes with
 * the same file differ where their environments do, and one of them may call another workspace.
 */
export const fingerprintOf = (config: Sinks): string =>
  known.getOrInsertComputed(config, ({ sinks, lookups }) => {
    const given = [...sinks.values(), ...lookups.values()].map(({ name, connector, options }) => {
      const secrets = Array.from(findSecrets(options), ({ value }) => value);
      return JSON.stringify([name, connector.name, options, secrets]);
    });
    return hash('sha256', JSON.stringify(given.toSorted())).slice(0, digits);
  });
