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

/** Secrets that do not work are checked so often at the least. */
const longestBetweenChecksMs = 3_600_000;

/**
 * Checks the new secrets of these sinks, before a message has to go out with them. Those that do not work are checked again,
 * first when a paused sink would be tried, and then less and less often: the tool may have been down, or take them a minute
 * later, and nobody else would find out before the next message; but wrong logins may lock an account. So not while a person has
 * paused the sink. Tells `work` which are right.
 */
export function checkSecrets(
  { clock, log, sinkOf, isPausedByPerson, work, checked, ...parts }: SecretParts,
  changed: readonly Pick<SinkConfig, 'name'>[],
): void {
  const { newSecrets } = parts.sinks;
  const { shutdown } = parts.deadlines;
  const checkLater = ({ name, retry }: SinkConfig, change: Change, checks: number) => {
    const pauseMs = Math.min(longestPauseMs(retry) * 2 ** (checks - 1), longestBetweenChecksMs);
    const cancel = clock.after(pauseMs, () => {
      shutdown.removeEventListener('abort', cancel);
      void check(name, change, checks);
    });
    shutdown.addEventListener('abort', cancel, { once: true });
  };
  const check = async (name: string, change: Change | undefined, earlier: number) => {
    const sink = sinkOf(name);
    // Where they were changed again, that change is checked for itself.
    if (!sink || !change || newSecrets.changeOf(name) !== change) return;
    if (earlier > 0 && isPausedByPerson(name)) return checkLater(sink, change, earlier);
    const detail = await faultOf({ ...parts, holding: { until: Infinity } }, sink);
    if (shutdown.aborted || newSecrets.changeOf(name) !== change) return;
    change.fault = detail;
    checked();
    if (detail === null) return work(name);
    if (earlier === 0) log.error({ sink: name, detail }, 'the changed secrets of a sink do not work');
    checkLater(sink, change, earlier + 1);
  };
  for (const { name } of changed) void check(name, newSecrets.changeOf(name), 0);
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
