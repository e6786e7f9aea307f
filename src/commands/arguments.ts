import { InvalidArgumentError, Option } from 'commander';
import { parseDuration } from '../config/units.ts';
import { statuses } from '../model.ts';
import { parseCandidateEvent } from '../receiver/candidate-event.ts';

/** How options are read. Each of these throws what makes a usage error, with the option's name before it. */

export function statusOption(): Option {
  return new Option('--status <status>', 'the final status').choices(statuses);
}

export function integer(text: string): number {
  const value = Number(text);
  if (!/^-?\d+$/.test(text) || !Number.isSafeInteger(value)) throw expected('a whole number');
  return value;
}

export function positive(text: string): number {
  const value = integer(text);
  if (value < 1) throw expected('1 or more');
  return value;
}

const isoTime = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?$/;

/** Milliseconds since the epoch. A time without a zone is this machine's. */
export function time(text: string): number {
  const value = isoTime.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(value)) throw expected('a time such as 2026-11-21T22:00:00Z');
  return value;
}

/** The time (ms) that lies a duration such as `7d` ago. */
export function ago(text: string): number {
  const durationMs = parseDuration(text);
  if (durationMs === null) throw expected('a duration such as 30m, 24h or 7d');
  return Date.now() - durationMs;
}

/** A candidate id as the receiver would keep it, so that a GUID is found in whichever spelling it is asked for. */
export function candidateId(text: string): string {
  const parsed = parseCandidateEvent({ candidateId: text, testId: 0, status: statuses[0] });
  if ('event' in parsed) return parsed.event.candidateId;
  throw new InvalidArgumentError(parsed.faults.map(({ detail }) => detail).join(' '));
}

const expected = (what: string): InvalidArgumentError => new InvalidArgumentError(`It must be ${what}.`);
