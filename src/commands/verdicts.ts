import type { Verdict } from '../rules/plan.ts';
import { printable } from '../support/text.ts';
import type { Io } from './io.ts';
import { paint } from './paint.ts';

/** One rule's verdict as a line. */
export function verdictText({ rule, matched, because }: Verdict, io: Io): string {
  const mark = matched ? paint(io, 'green', '✓') : paint(io, 'gray', '✗');
  return `  ${mark} ${printable(`${rule}: ${because}`)}`;
}
