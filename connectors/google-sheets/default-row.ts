import {
  type CandidateFields,
  candidateInList,
  candidateNumber,
  countsByStatus,
  eventTitle,
  forEachTest,
  ifKnown,
  noticeInShort,
  ofEntry,
  ofMessage,
  testName,
} from '../../src/connector.ts';
import type { Subject } from '../../src/connector.ts';
import type { JsonMap } from '../../src/model.ts';

/** The row of an action that has none. */
export function defaultFields(
  about: Subject['kind'],
  hasLink: boolean,
  known?: CandidateFields,
): readonly JsonMap[] {
  if (about === 'notice') return [{ tab: 'Alerts' }, { row: noticeRow, as: { Sent: 'date', Since: 'date' } }];
  if (about === 'digest') return [{ row: digestRow(known), as: { Sent: 'date' } }];
  const around = ofMessage(known);
  const columns = [
    ['Name', 'name', null],
    ['Score', 'score', 'number'],
    ['Report', 'report', 'link'],
    ['Email', 'email', null],
  ] as const;
  const looked = columns.filter(([, field]) => around.fields.has(field));
  const valueOf = (field: string) => ifKnown(around, field, (value) => `{{ ${value} }}`);
  return [
    {
      row: {
        ...eventRow,
        ...(hasLink && { Candidate: `${candidateNumber} <{{ links.candidate }}>` }),
        ...Object.fromEntries(looked.map(([column, field]) => [column, valueOf(field)])),
      },
      as: {
        Received: 'date',
        ...(hasLink && { Candidate: 'link' }),
        ...Object.fromEntries(looked.flatMap(([column, , kind]) => (kind ? [[column, kind]] : []))),
      },
    },
  ];
}

const eventRow = {
  Received: '{{ event.receivedAt }}',
  Test: testName(ofMessage()),
  Candidate: candidateNumber,
  Status: eventTitle,
  'Candidate id': '{{ event.candidateId }}',
  'Test id': '{{ event.testId }}',
};

const digestRow = (known?: CandidateFields): JsonMap => ({
  Sent: '{{ now }}',
  Events: '{{ events.size }}',
  Summary: forEachTest(
    testName(ofEntry()),
    `: ${countsByStatus('group.items')}{% unless forloop.last %}; {% endunless %}`,
  ),
  Candidates: `{% for event in events %}${candidateInList(ofEntry(known))}{% unless forloop.last %}, {% endunless %}{% endfor %}`,
});

const noticeRow = {
  Sent: '{{ now }}',
  Alert: noticeInShort,
  Since: '{{ notice.since }}',
  Detail: '{{ notice.detail }}',
  'To do': '{{ notice.advice }}',
};
