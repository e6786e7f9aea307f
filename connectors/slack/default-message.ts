import {
  type CandidateFields,
  candidateNumber,
  countsOfTest,
  digestInShort,
  eventInShort,
  forEachTest,
  headOfTest,
  ifKnown,
  ifToDecide,
  inShort,
  noticeBegan,
  noticeTitle,
  numberInList,
  ofEntry,
  ofMessage,
  ofOneOrMore,
  perNotice,
  perStatus,
  readOn,
  receivedBetween,
  receivedEarlier,
  said,
  sentence,
  testTitle,
  whatHappened,
  whatHappenedInList,
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
  action: JsonMap = {},
): readonly JsonMap[] {
  if (about === 'notice') return [noticeFields];
  const [event, digest] =
    action['style'] === 'full' ? [fullEvent, fullDigest] : [compactEvent, compactDigest];
  return [about === 'event' ? event(hasLink, known) : digest(hasLink, known)];
}

/** A check mark would say that the test was passed. */
const emoji = perStatus({
  Completed: ':checkered_flag:',
  DidNotTake: ':heavy_minus_sign:',
  Canceled: ':no_entry_sign:',
});

type Around = ReturnType<typeof ofMessage>;

/** An event in one line, with links to all that is known. */
function line(around: Around, hasLink: boolean): string {
  const linked = (text: string) => linkedTo(around.links, text, hasLink);
  const named = (name: string) => sentence(around, linked(`{{ ${name} }}`));
  const unnamed = inShort(around, linked(numberInList(hasLink)));
  // The page is behind the candidate already.
  const report = readOn(around, false, (address, text) => ` | <${address}|${text}>`);
  return `${emoji} ${ifKnown(around, 'name', named, unnamed)}${report}`;
}

function compactEvent(hasLink: boolean, known?: CandidateFields): JsonMap {
  const around = ofMessage(known);
  const toDecide = ifToDecide((what) => `\n_${said('whatNext')}_ ${what}`);
  return {
    text: `${emoji} ${eventInShort(around)}`,
    blocks: [section(`${line(around, hasLink)}${receivedEarlier}${toDecide}`)],
  };
}

function fullEvent(hasLink: boolean, known?: CandidateFields): JsonMap {
  const around = ofMessage(known);
  const linked = (text: string) => linkedTo(around.links, text, hasLink);
  const unnamed = `*${testTitle(around)}*\n${whatHappened(around, `*${linked(candidateNumber)}*`)}.`;
  const named = (name: string) => `*${sentence(around, linked(`{{ ${name} }}`))}*`;
  const what = `${emoji} ${ifKnown(around, 'name', named, unnamed)}`;
  // No button: of a click on one Slack tells the app, and shows a warning where the app takes no such calls.
  const open = readOn(around, hasLink, (address, text) => `\n<${address}|${text}>`);
  const email = ifKnown(around, 'email', (value) => ` | {{ ${value} }}`);
  return {
    text: `${emoji} ${eventInShort(around)}`,
    blocks: [
      section(`${what}\n_${said('whatNext')}_ ${whatNext}${open}`),
      context(`${said('received', { time: '{{ event.receivedAt | date }}' })} | ${wholeIds}${email}`),
    ],
  };
}

/** The events of a digest by test, a line each. */
function list(around: Around, hasLink: boolean): string {
  const what = whatHappenedInList(around, hasLink, (who) => linkedTo(around.links, who, hasLink));
  const each = `${emoji} ${what}, {{ event.receivedAt | date: "short" }}\n`;
  // As many as mostly fit into one block.
  const mostListed = hasLink ? 15 : 25;
  const body = [
    `{% assign room = ${mostListed} | minus: listed | at_least: 0 %}`,
    `{% for event in group.items limit: room %}${each}{% endfor %}`,
    `{% assign more = group.items.size | minus: room %}{% if more > 0 %}${said('more', { count: 'more' })}\n{% endif %}`,
    '{% assign listed = listed | plus: group.items.size %}{% unless forloop.last %}\n{% endunless %}',
  ];
  const head = headOfTest(`*${testTitle(around)}*${countsOfTest((counts) => ` (${counts})`)}\n`);
  return `{% assign listed = 0 %}${forEachTest(head, body.join(''))}`;
}

function compactDigest(hasLink: boolean, known?: CandidateFields): JsonMap {
  const around = ofEntry(known);
  const title = digestInShort(around);
  return {
    text: title,
    blocks: [
      section(ofOneOrMore(line(around, hasLink), `*${title}*\n${list(around, hasLink)}`)),
      context(`${receivedBetween} | ${said('whatNext')} ${whatNextOfDigest}`),
    ],
  };
}

function fullDigest(hasLink: boolean, known?: CandidateFields): JsonMap {
  const around = ofEntry(known);
  const title = digestInShort(around);
  return {
    text: title,
    blocks: [
      { type: 'header', text: { type: 'plain_text', text: title } },
      context(receivedBetween),
      section(list(around, hasLink)),
      section(`_${said('whatNext')}_ ${whatNextOfDigest}`),
    ],
  };
}

const noticeEmoji = perNotice({
  trouble: ':warning:',
  recovered: ':white_check_mark:',
  summary: ':bar_chart:',
});

const noticeFields: JsonMap = {
  text: `${noticeEmoji} ${noticeTitle}`,
  blocks: [
    section(
      `${noticeEmoji} *${noticeTitle}*\n{{ notice.detail }}\n_${said('whatNext')}_ {{ notice.advice }}`,
    ),
    context(noticeBegan),
  ],
};
