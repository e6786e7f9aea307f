import type { Logger } from 'pino';
import type { SinkConfig } from '../../config/config.ts';
import type { LiveCheck } from '../../connector.ts';
import type { Clock } from '../../support/clock.ts';
import type { Mask } from '../../support/secret.ts';
import type { Holding } from '../leases.ts';
import { longestPauseMs } from '../limits/breaker.ts';
import type { Deadlines } from '../limits/deadlines.ts';
import type { ConnectedSinks } from './connected-sinks.ts';
import type { Change } from './new-secrets.ts';

interface CheckParts {
  readonly sinks: ConnectedSinks;
  readonly deadlines: Deadlines;
  readonly holding: Pick<Holding, 'until'>;
  readonly mask: Mask;
}

interface SecretParts extends Omit<CheckParts, 'holding'> {
  readonly clock: Clock;
  readonly log: Logger;
  /** A sink of the config in force. */
  readonly sinkOf: (name: string) => SinkConfig | undefined;
  readonly isPausedByPerson: (name: string) => boolean;
  readonly work: (name: string) => void;
  /** Called after each check. */
  readonly checked: () => void;
}

/**
 * Checks the new secrets of these sinks, before a message has to go out with them. Those that do not work are checked again, as
 * often as a paused sink is tried at the least: the tool may have been down, or take them a minute later, and nobody else would
 * find out before the next message. Not while a person has paused the sink, perhaps as too many wrong logins locked an account.
 * Tells `work` which are right.
 */
export function checkSecrets(
  { clock, log, sinkOf, isPausedByPerson, work, checked, ...parts }: SecretParts,
  changed: readonly Pick<SinkConfig, 'name'>[],
): void {
  const { newSecrets } = parts.sinks;
  const { shutdown } = parts.deadlines;
  const checkLater = ({ name, retry }: SinkConfig, change: Change) => {
    const cancel = clock.after(longestPauseMs(retry), () => {
      shutdown.removeEventListener('abort', cancel);
      void check(name, change, true);
    });
    shutdown.addEventListener('abort', cancel, { once: true });
  };
  const check = async (name: string, change: Change | undefined, isAgain: boolean) => {
    const sink = sinkOf(name);
    // Where they were changed again, that change is checked for itself.
    if (!sink || !change || newSecrets.changeOf(name) !== change) return;
    if (isAgain && isPausedByPerson(name)) return checkLater(sink, change);
    const detail = await faultOf({ ...parts, holding: { until: Infinity } }, sink);
    if (shutdown.aborted || newSecrets.changeOf(name) !== change) return;
    change.fault = detail;
    checked();
    if (detail === null) return work(name);
    if (!isAgain) log.error({ sink: name, detail }, 'the changed secrets of a sink do not work');
    checkLater(sink, change);
  };
  for (const { name } of changed) void check(name, newSecrets.changeOf(name), false);
}

/** Asks a tool whether it works, without sending a message. Returns what is wrong, or null. Never throws. */
export async function faultOf(
  { sinks, mask, deadlines, holding }: CheckParts,
  sink: SinkConfig,
): Promise<string | null> {
  const abandoned = (): LiveCheck[] => [{ ok: false, what: 'check', detail: 'There was no answer in time.' }];
  try {
    const check = async (signal: AbortSignal) => {
      const connection = sinks.take(sink);
      try {
        const connected = await connection.connecting;
        return await connected.check([], signal);
      } finally {
        sinks.giveBack(connection);
      }
    };
    const checks = await deadlines.run({ timeoutMs: sink.timeoutMs, holding }, check, abandoned);
    const failed = checks.find(({ ok }) => !ok);
    if (!failed) return null;
    const said = `The check "${failed.what}" failed: ${failed.detail} ${failed.advice ?? ''}`.trim();
    return mask(sinks.newSecrets.refusedSince(sink.name, said));
  } catch (error) {
    return mask(`The sink could not be connected: ${error instanceof Error ? error.message : String(error)}`);
  }
}
