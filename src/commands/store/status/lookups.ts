import type { Status } from '../../../ops/status/status.ts';
import { unansweredWords } from '../../../ops/status/words.ts';
import { program } from '../../../support/invocation.ts';

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
