import { parseDuration } from '../config/units.ts';
import { CommandError, exit } from './io.ts';

/** The time (ms) that lies a duration such as `7d` ago. */
export function sinceTime(text: string): number {
  const durationMs = parseDuration(text);
  if (durationMs === null) {
    throw new CommandError(`--since takes a duration such as 30m, 24h or 7d, not ${text}`, exit.usage);
  }
  return Date.now() - durationMs;
}
