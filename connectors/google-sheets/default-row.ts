import {
  candidate,
  candidateInList,
  countsByStatus,
  eventTitle,
  forEachTest,
  noticeInShort,
  ofEntry,
  ofMessage,
  testName,
} from '../../src/connector.ts';
import type { Subject } from '../../src/connector.ts';
import type { JsonMap } from '../../src/model.ts';

/** The row of an action that has none. */
export function defaultFields(about: Subject['kind'], hasLink: boolean): readonly JsonMap[] {
  if (about === 'notice') return [{ tab: 'Alerts' }, { row: noticeRow, as: { Sent: 'date', Since: 'date' } }];
  if (about === 'digest') return [{ row: digestRow, as: { Sent: 'date' } }];
  if (!hasLink) return [{ row: eventRow, as: { Received: 'date' } }];
  const row = { ...eventRow, Candidate: `${candidate} <{{ links.candidate }}>` };
  return [{ row, as: { Received: 'date', Candidate: 'link' } }];
}

const eventRow = {
  Received: '{{ event.receivedAt }}',
  Test: testName(ofMessage),
  Candidate: candidate,
  Status: eventTitle,
  'Candidate id': '{{ event.candidateId }}',
  'Test id': '{{ event.testId }}',
};

const digestRow = {
  Sent: '{{ now }}',
  Events: '{{ events.size }}',
  Summary: forEachTest(
    testName(ofEntry),
    `: ${countsByStatus('group.items')}{% unless forloop.last %}; {% endunless %}`,
  ),
  Candidates: `{% for event in events %}${candidateInList(false)}{% unless forloop.last %}, {% endunless %}{% endfor %}`,
};

const noticeRow = {
  Sent: '{{ now }}',
  Alert: noticeInShort,
  Since: '{{ notice.since }}',
  Detail: '{{ notice.detail }}',
  'To do': '{{ notice.advice }}',
};
