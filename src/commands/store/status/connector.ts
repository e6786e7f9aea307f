import { type Finding, findings } from '../../../ops/status/findings.ts';
import type { Status } from '../../../ops/status/status.ts';
import { byConfig, on } from '../../../ops/status/words.ts';
import { printable, printableInLine } from '../../../support/text.ts';
import { type Io, when } from '../../output.ts';

/** The lines of findings of some kinds. */
export const findingLines = (status: Status, kinds: readonly (keyof typeof findings)[], io: Io): string[] =>
  kinds.flatMap((kind) => findings[kind](status).flatMap((one) => linesOf(one, io)));

function linesOf({ title, detail, then }: Finding, io: Io): string[] {
  const words = title.map((part) => (typeof part === 'number' ? when(part, io) : part)).join('');
  return [
    printableInLine(words + (detail === undefined ? '' : `: ${detail}`)),
    ...then.map((line) => `  ${printable(line)}`),
  ];
}

/** Which config is in force, of several replicas on which ones. */
export function configLines({ replicas }: Status, io: Io): string[] {
  // Those that were started at another time say the same.
  const alike = byConfig(replicas.toSorted((a, b) => b.config.since - a.config.since));
  return alike.flatMap((same) => {
    const { file, since } = same[0]!.config;
    const line = `${printable(file)}, in force since ${when(since, io)}`;
    if (replicas.length === 1) return [line];
    return [line, alike.length === 1 ? `${same.length} replicas, all by this config` : printable(on(same))];
  });
}
