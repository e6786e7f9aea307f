import { among } from '../foresight-cases.ts';

export type SinkKind = 'slack' | 'hook' | 'mail';

/** An action of a rule. Whatever is edited, it stays the one with this `tag`, which its text begins with. */
export interface PlayedAction {
  readonly tag: string;
  readonly kind: SinkKind;
  /** `bad-…`: mistyped, so that the tool takes nothing there; `shut-…`: it takes nothing as long as nobody opens it. */
  place: string;
  /** Counts the changes of its text. */
  version: number;
  every: string | null;
  by: boolean;
  readonly updates: boolean;
}

export interface PlayedRule {
  name: string;
  readonly when: object;
  then: PlayedAction[];
}

/** A config, as people edit it. */
export interface PlayedConfig {
  rules: PlayedRule[];
  /** The names of the sinks today. */
  sinks: Record<SinkKind, string>;
}

type Random = () => number;

/** Gives further actions: each with a tag of its own, and most of them with a place of their own. */
function actionsFrom(random: Random) {
  let made = 0;
  return (beside: readonly PlayedAction[] = []): PlayedAction => {
    made += 1;
    // What one sink is told by several actions is what can be mixed up.
    const kinds =
      beside.length > 0 && random() < 0.6 ? [beside[0]!.kind] : (['slack', 'hook', 'mail'] as const);
    const kind = among(random, kinds);
    const every = random() < 0.3 ? '5m' : null;
    return {
      tag: `T${made}`,
      kind,
      place: `${among(random, ['good', 'good', 'good', 'bad', 'shut'])}-${random() < 0.2 ? 0 : made}`,
      version: 0,
      every,
      by: every !== null && random() < 0.3,
      updates: kind === 'slack' && every === null && random() < 0.15,
    };
  };
}

export class Editor {
  readonly #random: Random;
  readonly #action: (beside?: readonly PlayedAction[]) => PlayedAction;
  readonly #before: PlayedConfig[] = [];
  #made = 0;
  today: PlayedConfig;

  constructor(random: Random) {
    this.#random = random;
    this.#action = actionsFrom(random);
    const rule = (name: string): PlayedRule => {
      const then: PlayedAction[] = [];
      for (let left = 1 + Math.floor(random() * 4); left > 0; left -= 1) then.push(this.#action(then));
      return { name, when: among(random, [{}, {}, { testId: 1 }]), then };
    };
    this.today = {
      rules: Array.from({ length: 1 + Math.floor(random() * 1.4) }, (_, place) => rule(`rule-${place}`)),
      sinks: { slack: 'slack', hook: 'hook', mail: 'mail' },
    };
  }

  /** Makes one to three edits, and says which. */
  edit(): string[] {
    if (this.#before.length > 0 && this.#random() < 0.1) {
      this.today = structuredClone(among(this.#random, this.#before));
      return ['put back'];
    }
    this.#before.push(structuredClone(this.today));
    const made: string[] = [];
    const wanted = 1 + Math.floor(this.#random() * 3);
    while (made.length < wanted) made.push(...this.#one());
    return made;
  }

  #one(): string[] {
    const { today } = this;
    const random = this.#random;
    const rule = among(random, today.rules);
    const action = among(random, rule.then);
    // What goes to one place is told apart by what it says alone.
    const isAlone = !action.place.includes('-0');
    const what = among(random, [
      'moved',
      'moved',
      'taken out',
      'put in',
      'put in',
      'corrected',
      'corrected',
      'text',
      'rule renamed',
      'split',
      'sink renamed',
      'digest',
      'by',
    ] as const);
    this.#made += 1;
    if (what === 'moved' && rule.then.length > 1) rule.then = rule.then.toSorted(() => random() - 0.5);
    else if (what === 'taken out' && rule.then.length > 1)
      rule.then = rule.then.filter((one) => one !== action);
    else if (what === 'put in')
      rule.then.splice(Math.floor(random() * (rule.then.length + 1)), 0, this.#action(rule.then));
    else if (what === 'corrected' && action.place.startsWith('bad'))
      action.place = `good-${action.place.slice(4)}-c`;
    else if (what === 'text' && isAlone) action.version += 1;
    else if (what === 'rule renamed') rule.name = `renamed-${this.#made}`;
    else if (what === 'split' && rule.then.length > 1) {
      rule.then = rule.then.filter((one) => one !== action);
      today.rules.push({ name: `split-${this.#made}`, when: rule.when, then: [action] });
    } else if (what === 'sink renamed') today.sinks[action.kind] = `${action.kind}-${this.#made}`;
    else if (what === 'digest' && isAlone && !action.updates) {
      action.every = action.every === null ? '5m' : null;
      action.by &&= action.every !== null;
    } else if (what === 'by' && action.every !== null) action.by = !action.by;
    else return [];
    return [`${what}: ${rule.name} ${action.tag}`];
  }
}

/** The config's text. The events of a message are in it as `<ID>`. */
export function textOf({ rules, sinks }: PlayedConfig): string {
  const written = ({ tag, kind, place, version, every, by, updates }: PlayedAction) => {
    const one = '<{{ event.candidateId }}>';
    const text = `[${tag}] v${version} ${every === null ? one : `{% for event in events %}${one}{% endfor %}`}`;
    const where = {
      slack: { channel: `#${place}`, text },
      hook: { path: `/${place}`, body: { text } },
      mail: { to: `${place}@example.com`, text },
    };
    return {
      sink: sinks[kind],
      ...where[kind],
      ...(every !== null && { digest: { every, ...(by && { by: 'testId' }) } }),
      ...(updates && { updateBy: '{{ event.candidateId }}' }),
    };
  };
  const retry = { minDelay: '1s', maxDelay: '5s', giveUpAfter: '1m' };
  return JSON.stringify({
    timezone: 'Etc/UTC',
    store: { retention: '365d' },
    sinks: {
      [sinks.slack]: { connector: 'slack', token: '${TOKEN}', retry },
      [sinks.hook]: { connector: 'webhook', url: 'https://hook.example.com', onUnknown: 'hold', retry },
      [sinks.mail]: { connector: 'email', url: 'smtp://smtp.example.com', from: 'hr@example.com', retry },
    },
    rules: rules.map(({ then, ...rule }) => ({ ...rule, then: then.map(written) })),
  });
}
