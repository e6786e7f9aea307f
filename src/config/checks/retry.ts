import type { Json } from '../../model.ts';
import type { SinkConfig } from '../config.ts';
import type { Fault, Path } from '../fault.ts';
import { error } from '../fault.ts';
import { durationText } from '../units.ts';
import { valueAt } from '../walk.ts';

/** Times of a sink that contradict each other. `raw` is the sink as written, `path` where it stands. */
export function checkRetry(
  { retry, timeoutMs }: Pick<SinkConfig, 'retry' | 'timeoutMs'>,
  raw: Json,
  path: Path,
): Fault[] {
  const time = (keys: Path, ms: number): Time => {
    const isGiven = valueAt(raw, keys) !== undefined;
    const name = `${keys.at(-1)} (${durationText(ms)}${isGiven ? '' : ' unless given'})`;
    return { name, ms, isGiven, path: [...path, ...keys] };
  };
  const minDelay = time(['retry', 'minDelay'], retry.minDelayMs);
  const giveUpAfter = time(['retry', 'giveUpAfter'], retry.giveUpAfterMs);
  return [
    ...wrongWayRound(minDelay, time(['retry', 'maxDelay'], retry.maxDelayMs)),
    ...tooShort(giveUpAfter, minDelay, 'nothing would be tried twice'),
    ...tooShort(giveUpAfter, time(['timeout'], timeoutMs), 'what timed out would not be tried again'),
  ];
}

interface Time {
  /** With what it comes to. */
  readonly name: string;
  readonly ms: number;
  readonly isGiven: boolean;
  readonly path: Path;
}

function wrongWayRound(minDelay: Time, maxDelay: Time): Fault[] {
  if (minDelay.ms <= maxDelay.ms) return [];
  return maxDelay.isGiven
    ? [error(maxDelay.path, `${maxDelay.name} is shorter than ${minDelay.name}`)]
    : [error(minDelay.path, `${minDelay.name} is longer than ${maxDelay.name}`)];
}

const tooShort = (time: Time, than: Time, consequence: string): Fault[] =>
  time.ms < than.ms ? [error(time.path, `${time.name} is shorter than ${than.name}: ${consequence}`)] : [];
