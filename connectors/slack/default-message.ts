import {
  type CandidateFields,
  candidateInList,
  candidateNumber,
  countsOfTest,
  digestInShort,
  eventInShort,
  forEachTest,
  headOfTest,
  ifKnown,
  noticeBegan,
  noticeInShort,
  ofEntry,
  ofMessage,
  perNotice,
  perStatus,
  readOn,
  receivedBetween,
  score,
  sentence,
  testTitle,
  whatNext,
  whatNextOfDigest,
  wholeIds,
} from '../../src/connector.ts';
import type { Subject } from '../../src/connector.ts';
import type { JsonMap } from '../../src/model.ts';

const section = (text: string): JsonMap => ({ type: 'section', text: { type: 'mrkdwn', text } });

const context = (text: string): JsonMap => ({ type: 'context', elements: [{ type: 'mrkdwn', text }] });

const linkedTo = (links: string, text: string, hasLink: boolean): string =>
  hasLink ? `<{{ ${links}.candidate }}|${text}>` : text;

/** What a message says where its action says nothing: blocks, and a text for notifications. */
export function defaultFields(
  about: Subject['kind'],
  hasLink: boolean,
  known?: CandidateFields,
): readonly JsonMap[] {
  const fields = { event: eventFields, digest: digestFields, notice: noticeFields };
  return [fields[about](hasLink, known)];
}

/** A check mark would say that the test was passed. */
const emoji = perStatus({
  Completed: ':checkered_flag:',
  DidNotTake: ':heavy_minus_sign:',
  Canceled: ':no_entry_sign:',
});

function eventFields(hasLink: boolean, known?: CandidateFields): JsonMap {
  const around = ofMessage(known);
  const linked = (text: string) => linkedTo(around.links, text, hasLink);
  const who = linked(candidateNumber);
  const unnamed = `*${testTitle(around)}*\nCandidate *${who}* {{ event.status | words }}${score(around)}.`;
  const named = (name: string) => `*${sentence(around, linked(`{{ ${name} }}`))}*`;
  const what = `${emoji} ${ifKnown(around, 'name', named, unnamed)}`;
  // No button: of a click on one Slack tells the app, and shows a warning where the app takes no such calls.
  const open = readOn(around, hasLink, (address, text) => `\n<${address}|${text}>`);
  const email = ifKnown(around, 'email', (value) => ` | {{ ${value} }}`);
  return {
    text: `${emoji} ${eventInShort(around)}`,
    blocks: [
      section(`${what}\n_What next:_ ${whatNext}${open}`),
      context(`Received {{ event.receivedAt | date }} | ${wholeIds}${email}`),
    ],
  };
}

function digestFields(hasLink: boolean, known?: CandidateFields): JsonMap {
  const around = ofEntry(known);
  const who = linkedTo(around.links, candidateInList(around, hasLink), hasLink);
  const line = `${emoji} Candidate ${who} {{ event.status | words }}${score(around)}, {{ event.receivedAt | date: "short" }}\n`;
  // More would not fit into one block.
  const mostListed = hasLink ? 15 : 25;
  const list = [
    `{% assign room = ${mostListed} | minus: listed | at_least: 0 %}`,
    `{% for event in group.items limit: room %}${line}{% endfor %}`,
    '{% assign more = group.items.size | minus: room %}{% if more > 0 %}… and {{ more | number }} more\n{% endif %}',
    '{% assign listed = listed | plus: group.items.size %}{% unless forloop.last %}\n{% endunless %}',
  ];
  const head = headOfTest(`*${testTitle(around)}*${countsOfTest((counts) => ` (${counts})`)}\n`);
  return {
    text: digestInShort(around),
    blocks: [
      { type: 'header', text: { type: 'plain_text', text: digestInShort(around) } },
      context(receivedBetween),
      section(`{% assign listed = 0 %}${forEachTest(head, list.join(''))}`),
      section(`_What next:_ ${whatNextOfDigest}`),
    ],
  };
}

const noticeEmoji = perNotice({
  trouble: ':warning:',
  recovered: ':white_check_mark:',
  summary: ':bar_chart:',
});

const noticeFields = (): JsonMap => ({
  text: `${noticeEmoji} Candidate Connector: ${noticeInShort}`,
  blocks: [
    section(
      `${noticeEmoji} *Candidate Connector: ${noticeInShort}*\n{{ notice.detail }}\n_What next:_ {{ notice.advice }}`,
    ),
    context(noticeBegan),
  ],
});
