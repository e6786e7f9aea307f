import { hash } from 'node:crypto';
import type { Config } from '../../config/config.ts';
import { findSecrets } from '../../support/secret.ts';

/**
 * So few, as others may read the store: they leave a guessed password as one of many. One difference in 65,536 is not seen.
 */
const digits = 4;

const short = (text: string): string => hash('sha256', text).slice(0, digits);

type Sinks = Pick<Config, 'sinks' | 'lookups'>;

const known = new WeakMap<Sinks, ReadonlyMap<string, string>>();

/**
 * Tells by which options, secrets among them, a process calls each sink and look-up: four hexadecimal digits for each name.
 * Two processes with the same file differ where their environments do, and one of them may call another workspace.
 */
export const fingerprintsOf = (config: Sinks): ReadonlyMap<string, string> =>
  known.getOrInsertComputed(
    config,
    ({ sinks, lookups }) =>
      new Map(
        [...sinks.values(), ...lookups.values()].map(({ name, connector, options }) => {
          const secrets = Array.from(findSecrets(options), ({ value }) => value);
          return [name, short(JSON.stringify([connector.name, options, secrets]))];
        }),
      ),
  );

/** All fingerprints as one. */
export const inOne = (fingerprints: ReadonlyMap<string, string>): string =>
  short(JSON.stringify([...fingerprints].toSorted(([a], [b]) => (a < b ? -1 : 1))));
