import type { SinkConfig } from '../../config/config.ts';
import type { Outcome, Reason } from '../../model/outcomes.ts';
import type { ReplicaState } from '../../store/store.ts';
import { findSecrets } from '../../support/secret.ts';
import { timeText } from '../../support/text.ts';

type SinkConfigs = ReadonlyMap<string, SinkConfig>;
type SecretFault = NonNullable<ReplicaState['secretFaults']>[number];

/** A change of a sink's secrets. */
export interface Change {
  /** When the secrets were changed (ms), and the zone in which people read that. */
  readonly at: number;
  readonly timeZone: string;
  /** Whether a message was refused for them. */
  areRefused: boolean;
  /** What a check said; null if it has not failed. */
  fault: string | null;
}

const secretsOf = ({ options }: SinkConfig): string =>
  JSON.stringify(Array.from(findSecrets(options), ({ value }) => value));

/** Reasons of a tool that looked at the message, and so took the secrets. */
const pastTheLogin: ReadonlySet<Reason> = new Set(['invalid', 'not_found']);

/** The sinks to which a reload gave other secrets, perhaps before a restart, until a call shows that these are right. */
export class NewSecrets {
  readonly #changes = new Map<string, Change>();

  /**
   * Notes which sinks of a new config have other secrets than before, and returns these. Forgets a sink that is gone: it may come
   * back with right ones. `timeZone`: the new config's.
   */
  adopt(before: SinkConfigs, after: SinkConfigs, at: number, timeZone: string): SinkConfig[] {
    for (const name of this.#changes.keys()) if (!after.has(name)) this.#changes.delete(name);
    const changed = [...after.values()].filter((sink) => {
      const known = before.get(sink.name);
      return known !== undefined && secretsOf(known) !== secretsOf(sink);
    });
    for (const { name } of changed) this.#changes.set(name, { at, timeZone, areRefused: false, fault: null });
    return changed;
  }

  /** Takes over which sinks' new secrets did not work before a restart, and returns these sinks, to be checked again. */
  recall(faults: readonly SecretFault[], sinks: SinkConfigs, timeZone: string): SinkConfig[] {
    return faults.flatMap(({ sink, since: at, detail: fault }) => {
      const config = sinks.get(sink);
      // Several replicas may have said so.
      if (!config || this.#changes.has(sink)) return [];
      this.#changes.set(sink, { at, timeZone, areRefused: false, fault });
      return config;
    });
  }

  /** Learns from an outcome whether new secrets are right. Returns it, with a detail of since when they were refused. */
  judged<Told extends Outcome>(name: string, outcome: Told): Told {
    const change = this.#changes.get(name);
    if (!change) return outcome;
    if (outcome.outcome === 'delivered' || pastTheLogin.has(outcome.reason)) this.#changes.delete(name);
    else if (outcome.reason === 'auth') {
      change.areRefused = true;
      return { ...outcome, detail: this.refusedSince(name, outcome.detail) };
    }
    return outcome;
  }

  /** The last change of a sink's secrets, until a call has shown that they are right. */
  changeOf(name: string): Change | undefined {
    return this.#changes.get(name);
  }

  /** The sinks whose new secrets are known not to work, and since when. */
  faults(): SecretFault[] {
    return [...this.#changes].flatMap(([sink, { at: since, fault: detail }]) =>
      detail === null ? [] : [{ sink, since, detail }],
    );
  }

  /** Adds to the detail of a failure since when the sink's new secrets were refused, if they were. */
  refusedSince(name: string, detail: string): string {
    const change = this.#changes.get(name);
    if (!change?.areRefused) return detail;
    return `${detail} Its secrets were changed at ${timeText(change.at, change.timeZone)}, and it has been refused since.`;
  }
}
