import { type Config, ConfigError } from '../config.ts';
import { adminPasswords } from '../settings.ts';
import type { ReadinessPart } from '../../http/health.ts';
import { CallerTokens } from './caller-tokens.ts';
import { masker } from '../../support/masker.ts';
import { findSecrets, type Mask } from '../../support/secret.ts';
import type { RefusedFile } from '../../store/store.ts';

/**
 * Keys that take effect at a restart, and the keys that wait with them: a port that stays open keeps its protection, and a
 * retention meant for another store must delete nothing in this one.
 */
const restartKeys = [
  {
    keys: ['receiver.host', 'receiver.port'],
    dependents: ['receiver.allowFrom', 'receiver.trustProxy', 'receiver.token'],
  },
  {
    keys: ['admin.host', 'admin.port'],
    dependents: [...adminPasswords, 'proxy'].map((key) => `admin.${key}`),
  },
  { keys: ['store.url'], dependents: ['store.retentionMs', 'idempotency.windowMs'] },
  { keys: ['store.secretKey'], dependents: [] },
  { keys: ['log.format'], dependents: [] },
];

/**
 * How many earlier configs keep their secrets masked: a tool may echo a secret that it got before a reload. A call ends
 * within minutes, and a file is rarely saved more often meanwhile. Each config costs time for every log line.
 */
const earlierMasks = 3;

type FirstProblem = Omit<RefusedFile, 'isInForce'>;

/** The config in force, and whether the last reload failed. Times are by the clock that all replicas share. */
export class LiveConfig {
  #config: Config;
  /** The masks of the config in force and of the ones before it, newest first. */
  #masks: readonly Mask[];
  #waiting: readonly string[] = [];
  #refused: FirstProblem | null = null;
  /** Broken policies of the config in force: a start proves them only afterwards. */
  #broken: FirstProblem | null = null;
  #loadedAt = Date.now();
  readonly tokens: CallerTokens;

  constructor(config: Config) {
    this.#config = config;
    this.#masks = [config.mask];
    this.tokens = new CallerTokens(config.receiver.token);
  }

  get config(): Config {
    return this.#config;
  }

  /** The changed keys that take effect at the next start. */
  get waiting(): readonly string[] {
    return this.#waiting;
  }

  /** When the config in force was loaded (ms). */
  get loadedAt(): number {
    return this.#loadedAt;
  }

  /**
   * Puts a config in force. Returns until when former tokens stay valid at most (ms); null if none does.
   * `policiesAsBefore`: what is known of the policies in force holds for the next ones.
   */
  adopt(next: Config, now = Date.now(), policiesAsBefore = false): number | null {
    const kept = keptKeys(next, this.#config);
    const adopted = kept.length === 0 ? next : withKept(next, this.#config, kept);
    const formerUntil = this.tokens.adopt(adopted.receiver.token, now);
    const maskFormer = masker(this.tokens.former.map((token) => token.reveal()));
    const masks = [adopted.mask, ...this.#masks].slice(0, 1 + earlierMasks);
    this.#masks = masks;
    const mask: Mask = (text) => masks.reduce((shown, maskOne) => maskOne(shown), maskFormer(text));
    this.#config = Object.freeze({ ...adopted, mask });
    this.#waiting = kept.map((name) => name.replace(/Ms$/, ''));
    this.#refused = null;
    if (!policiesAsBefore) this.#broken = null;
    this.#loadedAt = now;
    return formerUntil;
  }

  failed(error: Error, now = Date.now()): void {
    this.#refused = this.#problemsOf(error, now, this.#refused?.since);
  }

  /** Notes that the config in force breaks policies. */
  breaks(error: ConfigError, now: number): void {
    this.#broken = this.#problemsOf(error, now);
  }

  #problemsOf(error: Error, lastAt: number, since = lastAt): FirstProblem {
    const { file, mask } = this.#config;
    const errors =
      error instanceof ConfigError ? error.problems.filter(({ severity }) => severity === 'error') : [];
    const [first] = errors;
    const problem = first
      ? `${first.file ?? file}:${first.line}:${first.column}: ${first.message}`
      : error.message;
    return {
      since,
      lastAt,
      problem: mask(problem),
      others: Math.max(0, errors.length - 1),
    };
  }

  /** Why the file as it is now was refused, or which policies it breaks though in force; null if neither. */
  get refused(): RefusedFile | null {
    // A refusal with the same problem means that the file is again as it was at the start.
    const isInForce =
      this.#broken !== null && [undefined, this.#broken.problem].includes(this.#refused?.problem);
    const found = isInForce ? this.#broken : this.#refused;
    return found && { ...found, isInForce };
  }

  /** Ready with an old config, too. This is public, so only the log says what is wrong with the new one. */
  readiness(): ReadinessPart {
    const part = { part: 'config', ok: true };
    if (this.refused?.isInForce) return { ...part, detail: 'A policy does not hold; the log says which.' };
    if (this.#refused)
      return { ...part, detail: 'The changed file has problems; the config before it stays in force.' };
    if (this.#waiting.length === 0) return part;
    return { ...part, detail: 'Some changed keys wait for a restart; the log names them.' };
  }
}

/** The changed keys that keep their old values. */
function keptKeys(next: Config, current: Config): string[] {
  const comparable = (config: Config, name: string): string => {
    const value = settingOf(config, name);
    return JSON.stringify([value, ...Array.from(findSecrets(value), (one) => one.value)]);
  };
  const differs = (name: string): boolean => comparable(next, name) !== comparable(current, name);
  return restartKeys
    .filter(({ keys }) => keys.some(differs))
    .flatMap(({ keys, dependents }) => [...keys, ...dependents].filter(differs));
}

/** The value of a setting. `name`: as in restartKeys. */
const settingOf = (config: Config, name: string): unknown =>
  name.split('.').reduce<unknown>((value, key) => (value as Record<string, unknown>)[key], config);

function withKept(next: Config, current: Config, kept: readonly string[]): Config {
  const sections: Record<string, object> = {};
  for (const name of kept) {
    const [section = '', key = ''] = name.split('.');
    const others = sections[section] ?? settingOf(next, section);
    sections[section] = Object.assign({}, others, { [key]: settingOf(current, name) });
  }
  // The new file does not have the old values that stay in force, and they stay masked.
  const maskKept = masker([...findSecrets(sections)].map(({ value }) => value));
  return Object.freeze({ ...next, ...sections, mask: (text: string) => maskKept(next.mask(text)) });
}
