import {
  candidate,
  candidateInList,
  countsByStatus,
  digestInShort,
  eventInShort,
  eventTitle,
  forEachTest,
  noticeBegan,
  noticeInShort,
  ofEntry,
  ofMessage,
  perNotice,
  receivedBetween,
  testName,
  whatNext,
  whatNextOfDigest,
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
  listColor,
  recoveredColor,
  statusColor,
  warningColor,
} from './layout.ts';

/** What a mail says where its action says nothing, as HTML and as text. */
export function defaultFields(about: Subject['kind'], hasLink: boolean): readonly JsonMap[] {
  if (about === 'event') return [{ subject: eventInShort }, eventBody(hasLink)];
  if (about === 'digest') return [{ subject: digestInShort }, digestBody(hasLink)];
  return [{ subject: noticeTitle }, noticeBody];
}

const received = '{{ event.receivedAt | date }}';

/** The whole id, too: it is what people search for. */
const wholeCandidate =
  '{% if event.candidateNumericalId %}{{ event.candidateNumericalId }} (id {{ event.candidateId }}){% else %}{{ event.candidateId }}{% endif %}';

function eventBody(hasLink: boolean): JsonMap {
  const title = `Candidate ${candidate} {{ event.status | words }}`;
  const test = `${testName(ofMessage)}{% if test.name %} ({{ event.testId }}){% endif %}`;
  const address = '{{ links.candidate }}';
  const facts = [
    ['Test', test],
    ['Candidate', wholeCandidate],
    ['Received', received],
  ] as const;
  const body = details(facts) + next(whatNext) + (hasLink ? button(address, 'Open candidate') : '');
  return {
    html: layout({
      preview: `${testName(ofMessage)}. ${whatNext}`,
      accent: statusColor,
      above: eventTitle,
      title,
      body,
    }),
    text: [
      `${title}.`,
      '',
      ...facts.map(([name, value]) => `${name}:`.padEnd(11) + value),
      '',
      `What next: ${whatNext}`,
      ...(hasLink ? [address] : []),
      '',
    ].join('\n'),
  };
}

const time = '{{ event.receivedAt | date: "%-d %b %H:%M" }}';

function digestBody(hasLink: boolean): JsonMap {
  const address = '{{ event.links.candidate }}';
  const who = candidateInList(hasLink);
  const linked = hasLink ? link(address, who) : who;
  const line = row(`Candidate ${linked} {{ event.status | words }}`, time);
  const list = rows(`{% for event in group.items %}${line}{% endfor %}`);
  const name = testName(ofEntry);
  return {
    html: layout({
      preview: `Received ${receivedBetween}`,
      accent: listColor,
      above: 'Candidates',
      title: digestInShort,
      body:
        forEachTest(heading(name, countsByStatus('group.items')), list) +
        next(whatNextOfDigest) +
        note(`Received ${receivedBetween}`),
    }),
    text: [
      forEachTest(
        `${name}: ${countsByStatus('group.items')}\n`,
        `{% for event in group.items %}- candidate ${who} {{ event.status | words }}, ${time}${hasLink ? ` ${address}` : ''}\n{% endfor %}\n`,
      ),
      `What next: ${whatNextOfDigest}\n\nReceived ${receivedBetween}\n`,
    ].join(''),
  };
}

const noticeTitle = `Candidate Connector: ${noticeInShort}`;

/** A summary has several lines. */
const detailLines =
  '{% assign lines = notice.detail | split: "\n" %}{% for line in lines %}{{ line }}{% unless forloop.last %}<br>{% endunless %}{% endfor %}';

const noticeBody: JsonMap = {
  html: layout({
    preview: '{{ notice.detail }}',
    accent: perNotice({ trouble: warningColor, recovered: recoveredColor, summary: listColor }),
    above: perNotice({
      trouble: 'Candidate Connector needs a person',
      recovered: 'Candidate Connector is well again',
      summary: 'Candidate Connector, every week',
    }),
    title: noticeInShort,
    body:
      details([
        ['What', detailLines],
        [
          perNotice({ trouble: 'Since', recovered: 'It began', summary: 'From' }),
          '{{ notice.since | date }}',
        ],
      ]) + next('{{ notice.advice }}'),
  }),
  text: `{{ notice.detail }}\n\nWhat next: {{ notice.advice }}\n\n${noticeBegan}\n`,
};
