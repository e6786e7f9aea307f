import type { Logger } from 'pino';
import type { SinkConfig } from '../../config/config.ts';
import type { LiveCheck } from '../../connector.ts';
import type { Mask } from '../../support/secret.ts';
import type { Holding } from '../leases.ts';
import type { Deadlines } from '../limits/deadlines.ts';
import type { ConnectedSinks } from './connected-sinks.ts';

interface CheckParts {
  readonly sinks: ConnectedSinks;
  readonly deadlines: Deadlines;
  readonly holding: Pick<Holding, 'until'>;
  readonly mask: Mask;
}

/** Checks the new secrets of sinks, before a message has to go out with them. Tells `work` which are right. Never throws. */
export async function checkSecrets(
  {
    log,
    work,
    ...parts
  }: Omit<CheckParts, 'holding'> & {
    readonly log: Logger;
    readonly work: (sink: string) => void;
  },
  changed: readonly SinkConfig[],
): Promise<void> {
  const check = async (sink: SinkConfig) => {
    const detail = await faultOf({ ...parts, holding: { until: Infinity } }, sink);
    if (parts.deadlines.shutdown.aborted) return;
    parts.sinks.newSecrets.checked(sink.name, detail);
    if (detail === null) work(sink.name);
    else log.error({ sink: sink.name, detail }, 'the changed secrets of a sink do not work');
  };
  await Promise.all(changed.map(check));
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
