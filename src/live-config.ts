import type { Config } from './config/config.ts';
import { findSecrets, masker } from './config/mask.ts';
import type { ReadinessPart } from './http/health.ts';
import { Secret } from './support/secret.ts';

/**
 * What a process cannot change while it runs, and what goes with it: while a port stays open, so does what protects it,
 * and a retention that was meant for another store deletes nothing in this one.
 */
const lasting = [
  {
    keys: ['receiver.host', 'receiver.port'],
    along: ['receiver.allowFrom', 'receiver.trustProxy', 'receiver.token'],
  },
  { keys: ['admin.host', 'admin.port'], along: ['admin.password'] },
  { keys: ['store.url'], along: ['store.retentionMs', 'idempotency.windowMs'] },
  { keys: ['log.format'], along: [] },
];

/** The config in force, and whether the file has since been changed for the worse. */
export class LiveConfig {
  #config: Config;
  #waiting: readonly string[] = [];
  #reloadFailed = false;

  constructor(config: Config) {
    this.#config = config;
  }

  get config(): Config {
    return this.#config;
  }

  /** The keys of the file that take effect at the next start only. */
  get waiting(): readonly string[] {
    return this.#waiting;
  }

  adopt(next: Config): void {
    const kept = keptKeys(next, this.#config);
    this.#config = kept.length === 0 ? next : withKept(next, this.#config, kept);
    this.#waiting = kept.map((name) => name.replace(/Ms$/, ''));
    this.#reloadFailed = false;
  }

  failed(): void {
    this.#reloadFailed = true;
  }

  /** Ready also with the old config; what is wrong with the new one is in the log, since this is public. */
  readiness(): ReadinessPart {
    const part = { part: 'config', ok: true };
    if (this.#reloadFailed)
      return { ...part, detail: 'The changed file has problems; the config before it stays in force.' };
    if (this.#waiting.length === 0) return part;
    return { ...part, detail: 'Some changed keys wait for a restart; the log names them.' };
  }
}

/** The keys that differ and stay as they are. */
function keptKeys(next: Config, current: Config): string[] {
  const differs = (name: string): boolean => comparable(next, name) !== comparable(current, name);
  return lasting
    .filter(({ keys }) => keys.some(differs))
    .flatMap(({ keys, along }) => [...keys, ...along].filter(differs));
}

function withKept(next: Config, current: Config, kept: readonly string[]): Config {
  const sections: Sections = {};
  for (const name of kept) {
    const [section, key] = split(name);
    sections[section] = {
      ...(sections[section] ?? sectionsOf(next)[section]),
      [key]: valueOf(current, name),
    };
  }
  // What stays in force stays secret, though the new file knows nothing of it.
  const mask = masker([...findSecrets(sections)].map(({ value }) => value));
  return Object.freeze({ ...next, ...sections, mask: (text: string) => mask(next.mask(text)) });
}

type Sections = Record<string, Readonly<Record<string, unknown>>>;

const sectionsOf = (config: Config): Sections => config as unknown as Sections;
const split = (name: string): [string, string] => name.split('.', 2) as [string, string];

function valueOf(config: Config, name: string): unknown {
  const [section, key] = split(name);
  return sectionsOf(config)[section]?.[key];
}

function comparable(config: Config, name: string): string {
  const value = valueOf(config, name);
  return JSON.stringify(value instanceof Secret ? { secret: value.reveal() } : value);
}
