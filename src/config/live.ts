import type { ReadinessPart } from '../health.ts';
import type { Config } from './config.ts';

/** The config in force, and whether the file has since been changed for the worse. */
export class LiveConfig {
  #config: Config;
  #reloadFailed = false;

  constructor(config: Config) {
    this.#config = config;
  }

  get config(): Config {
    return this.#config;
  }

  adopt(config: Config): void {
    this.#config = config;
    this.#reloadFailed = false;
  }

  failed(): void {
    this.#reloadFailed = true;
  }

  /** Ready also with the old config; what is wrong with the new one is in the log, since this is public. */
  readiness(): ReadinessPart {
    const part = { part: 'config', ok: true };
    if (!this.#reloadFailed) return part;
    return { ...part, detail: 'The changed file has problems; the config before it stays in force.' };
  }
}
