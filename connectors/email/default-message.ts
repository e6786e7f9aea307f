import {
  type CandidateFields,
  candidateNumber,
  countsOfTest,
  digestInShort,
  eventInShort,
  eventTitle,
  forEachTest,
  headline,
  headOfTest,
  ifKnown,
  ifToDecide,
  noticeBegan,
  noticeInShort,
  noticeTitle,
  ofEntry,
  ofMessage,
  ofOneOrMore,
  perNotice,
  readOn,
  receivedBetween,
  said,
  testName,
  testTitle,
  whatHappened,
  whatHappenedInList,
  whatNextOfDigest,
  wholeIds,
} from '../../src/connector.ts';
import type { Subject } from '../../src/connector.ts';
import type { JsonMap } from '../../src/model.ts';
import {
  button,
  details,
  heading,
  layout,
  link,
  next,
  note,
  row,
  rows,
  subheading,
  recoveredColor,
  statusColor,
  summaryColor,
  warningColor,
} from './layout.ts';

/** What a mail says where its action says nothing, as HTML and as text. */
export function defaultFields(
  about: Subject['kind'],
  hasLink: boolean,
  known?: CandidateFields,
): readonly JsonMap[] {
  if (about === 'event')
    return [{ subject: eventInShort(ofMessage(known)) }, eventBody(ofMessage(known), hasLink)];
  if (about === 'digest')
    return [{ subject: digestInShort(ofEntry(known)) }, digestBody(ofEntry(known), hasLink)];
  return [{ subject: noticeTitle }, noticeBody];
}

type Around = ReturnType<typeof ofMessage>;

function eventBody(around: Around, hasLink: boolean): JsonMap {
  const title = headline(around, whatHappened(around, candidateNumber));
  // A link has them.
  const ids = hasLink ? '' : wholeIds;
  const facts = [
    [said('labelTest'), '{{ test.name | default: event.testId }}'],
    ...(around.fields.has('email')
      ? [
          [
            said('labelEmail'),
            ifKnown(around, 'email', (email) => `{{ ${email} }}`, said('notKnown')),
          ] as const,
        ]
      : []),
    [said('labelReceived'), '{{ event.receivedAt | date }}'],
  ] as const;
  return {
    html: layout({
      preview: `${testName(around)}.${ifToDecide((what) => ` ${what}`)}`,
      badge: { text: eventTitle, color: statusColor },
      title,
      body: details(facts) + ifToDecide(next) + readOn(around, hasLink, button) + (ids && note(ids)),
    }),
    text: [
      `${title}.\n\n`,
      ...facts.map(([name, value]) => `${said('item', { name, value })}\n`),
      ifToDecide((what) => `\n${said('whatNext')} ${what}\n`),
      readOn(around, hasLink, (address) => `\n${address}\n`),
      ids && `\n${ids}\n`,
    ].join(''),
  };
}

const time = '{{ event.receivedAt | date: "short" }}';

/**
 * Gmail cuts HTML that has more than 102 KB; the layout and what comes after the list have the rest, and letters of more
 * than one byte.
 */
const mostOfList = 75_000;

/** A part of the HTML, unless so much is there already. */
const whileShort = (html: string): string => `{% if used < ${mostOfList} %}${html}{% endif %}`;

/** The same of a part that counts for those after it, as does what stands around them. */
const counted = (html: string, around = ''): string =>
  whileShort(
    `{% capture part %}${html}{% endcapture %}{% assign used = used | plus: part.size | plus: ${around.length} %}{{ part }}`,
  );

const moreThanListed = `{% assign more = events.size | minus: listed %}{% if more > 0 %}${note(said('moreInText', { count: 'more' }))}{% endif %}`;

function digestBody(around: Around, hasLink: boolean): JsonMap {
  const address = '{{ event.links.candidate }}';
  const line = row(
    whatHappenedInList(around, hasLink, (who) => (hasLink ? link(address, who) : who)),
    time,
  );
  const listed = counted(`${line}{% assign listed = listed | plus: 1 %}`);
  const list = rows(`{% for event in group.items %}${listed}{% endfor %}`);
  const name = testTitle(around);
  const all = [
    '{% assign used = 0 %}{% assign listed = 0 %}',
    forEachTest(headOfTest(counted(heading(name, countsOfTest(subheading)), rows(''))), whileShort(list)),
    moreThanListed,
  ].join('');
  // The title says all else of a single event.
  const ids = hasLink ? '' : wholeIds;
  const inText = `- ${whatHappenedInList(around, hasLink)}, ${time}${hasLink ? ` ${address}` : ''}\n`;
  return {
    html: layout({
      preview: receivedBetween,
      title: digestInShort(around),
      body:
        note(receivedBetween) +
        ofOneOrMore(ids && note(ids), all) +
        next(whatNextOfDigest) +
        ofOneOrMore(readOn(around, hasLink, button), ''),
    }),
    text: [
      `${digestInShort(around)}\n${receivedBetween}\n\n`,
      ofOneOrMore(
        readOn(around, hasLink, (one) => `${one}\n\n`) + (ids && `${ids}\n\n`),
        forEachTest(
          headOfTest(`${name}${countsOfTest((counts) => ` (${counts})`)}\n`),
          `{% for event in group.items %}${inText}{% endfor %}\n`,
        ),
      ),
      `${said('whatNext')} ${whatNextOfDigest}\n`,
    ].join(''),
  };
}

/** A summary has several lines. */
const detailLines =
  '{% assign lines = notice.detail | split: "\n" %}{% for line in lines %}{{ line }}{% unless forloop.last %}<br>{% endunless %}{% endfor %}';

const noticeBody: JsonMap = {
  html: layout({
    preview: '{{ notice.detail }}',
    badge: {
      text: perNotice({
        trouble: said('badgeTrouble'),
        recovered: said('badgeRecovered'),
        summary: said('badgeSummary'),
      }),
      color: perNotice({ trouble: warningColor, recovered: recoveredColor, summary: summaryColor }),
    },
    title: noticeInShort,
    body:
      details([
        [said('labelWhat'), detailLines],
        [
          perNotice({
            trouble: said('labelSince'),
            recovered: said('labelBegan'),
            summary: said('labelFrom'),
          }),
          '{{ notice.since | date }}',
        ],
      ]) + next('{{ notice.advice }}'),
  }),
  text: `{{ notice.detail }}\n\n${said('whatNext')} {{ notice.advice }}\n\n${noticeBegan}\n`,
};
