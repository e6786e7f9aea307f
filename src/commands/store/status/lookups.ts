import { lookupOf } from '../../../model.ts';
import type { Status } from '../../../ops/status/status.ts';
import { unansweredWords } from '../../../ops/status/words.ts';
import type { Store } from '../../../store/store.ts';
import { program } from '../../../support/invocation.ts';
import { printable } from '../../../support/text.ts';

const lastCalls = 20;
const fewestCalls = 5;

/** Warns of look-ups that work but never find anything, or a field: the url or an `at` may be wrong, or the API has changed. */
export async function unfoundLines(store: Store, { lookups }: Status): Promise<string[]> {
  const lines: string[] = [];
  for (const { sink, figures } of lookups) {
    if (figures === null) continue;
    const outcomes = (await store.attemptsOfSink(sink, lastCalls)).map(({ outcome }) => outcome);
    const empty = outcomes.flatMap((one) =>
      one.outcome === 'retry' && one.reason === 'not_found' ? [one.detail] : [],
    );
    const lacking = outcomes.flatMap((one) =>
      one.outcome === 'delivered' ? [[one.receipt['lacks'] ?? []].flat().map(String)] : [],
    );
    const many = lacking.length || empty.length;
    const never = lacking[0]?.filter((field) => lacking.every((others) => others.includes(field)));
    if (many < fewestCalls || never?.length === 0) continue;
    const [what, wrong] = never
      ? [
          `answers of ${lookupOf(sink)} had ${never.join(' or ')}, or not of the type that the config wants`,
          'the API has changed, or an `at` or a `type`',
        ]
      : [`calls of ${lookupOf(sink)} found what it asks for: ${empty[0]}`, 'the url'];
    lines.push(
      printable(`none of the last ${many} ${what}`),
      `  if ${wrong} was wrong: once it is right, \`${program} lookup --absent --since 24h --wait\` asks again, and says what to \`${program} apply\``,
    );
  }
  return lines;
}

export function unansweredLines(found: Status): string[] {
  const words = unansweredWords(found);
  if (words === '') return [];
  const apply = `\`${program} apply --rule NAME\``;
  return [
    `${words}: \`${program} events --unanswered\` lists them`,
    found.unanswered.isAnsweredNow
      ? `  the answers are here by now: ${apply} sends what nobody was told, \`${program} resend\` what was sent without them`
      : `  \`${program} lookup --unanswered\` asks again and sends nothing; ${apply} then sends what a rule asks for`,
  ];
}
