import type { Status } from '../model.ts';

/** Removes line breaks and other control characters, which could start another header. */
export const oneLine = (text: string): string => text.replace(/[\p{Cc}\u2028\u2029]+/gu, ' ').trim();

/**
 * A rendered template before its values are filled in: `text` has a `slot` for each of the escaped `values`. A value can
 * so never be mistaken for the template's own text.
 */
export interface Outline {
  readonly text: string;
  readonly values: readonly string[];
}

/** A noncharacter: Unicode reserves it for internal use. */
export const slot = '\uFDD0';

type Fill = (text: string, change?: (value: string) => string) => string;

/** Fills the slots of an outline's text, part by part. `change` is applied to the values of that part. */
export function filler(values: readonly string[]): Fill {
  let next = 0;
  return (text, change = (value) => value) =>
    text.replaceAll(slot, () => {
      next += 1;
      return change(values[next - 1] ?? '');
    });
}

// What default messages say: parts of templates, for any medium. In a loop over the `events` of a digest, what belongs to
// an event is inside of it.

/** Where the test and the links of `event` are. */
interface Around {
  readonly test: string;
  readonly links: string;
}

export const ofMessage: Around = { test: 'test', links: 'links' };
export const ofEntry: Around = { test: 'event.test', links: 'event.links' };

/** `Backend Engineer`; `Test 7` without a name. */
export const testName = ({ test }: Around): string =>
  `{% if ${test}.name %}{{ ${test}.name }}{% else %}Test {{ event.testId }}{% endif %}`;

/** The candidate's number, `4711`; `6f1c2d3e…` without one. */
export const candidate =
  '{% assign id = event.candidateId | short %}{{ event.candidateNumericalId | default: id }}';

/** The same; the whole id where nothing else leads to the candidate. */
export const candidateInList = (hasLink: boolean): string =>
  hasLink ? candidate : '{{ event.candidateNumericalId | default: event.candidateId }}';

const inShort = (around: Around): string =>
  `${testName(around)}: candidate ${candidate} {{ event.status | words }}`;

/** `Backend Engineer: candidate 4711 completed the test`. */
export const eventInShort = inShort(ofMessage);

const byStatus = (ofCompleted: string, ofDidNotTake: string, ofCanceled: string): string =>
  `{% case event.status %}{% when "Completed" %}${ofCompleted}{% when "DidNotTake" %}${ofDidNotTake}{% else %}${ofCanceled}{% endcase %}`;

export const eventTitle = byStatus('Completed', 'Did not take the test', 'Canceled');

/** What a reader may do about an event. */
export const whatNext = byStatus(
  'Look at the result in the testing service.',
  'There is no result. Decide whether to invite the candidate again.',
  'There will be no result. If that was not meant, invite the candidate again.',
);

/** What differs by status, such as a colour. */
export const perStatus = (values: { readonly [status in Status]: string }): string =>
  byStatus(values.Completed, values.DidNotTake, values.Canceled);

const statusInCounts = (status: string): string =>
  `{% case ${status} %}{% when "Completed" %}completed{% when "DidNotTake" %}did not take it{% else %}canceled{% endcase %}`;

/** `2 completed, 1 canceled`, of a list of events. */
export const countsByStatus = (events: string): string =>
  [
    `{% assign statuses = ${events} | map: "status" | uniq %}{% for status in statuses %}`,
    `{% assign same = ${events} | where: "status", status %}{{ same.size | number }} ${statusInCounts('status')}`,
    '{% unless forloop.last %}, {% endunless %}{% endfor %}',
  ].join('');

/** As eventInShort for one event; `Backend Engineer: 2 completed, 1 canceled`, or `3 tests: …` for several. */
export const digestInShort = [
  `{% for event in events limit: 1 %}{% if events.size == 1 %}${inShort(ofEntry)}{% else %}`,
  `{% assign tests = events | map: "testId" | uniq %}{% if tests.size == 1 %}${testName(ofEntry)}{% else %}{{ tests.size | number }} tests{% endif %}`,
  `: ${countsByStatus('events')}{% endif %}{% endfor %}`,
].join('');

/** What a reader may do about the events of a digest. */
export const whatNextOfDigest = [
  '{% assign done = events | where: "status", "Completed" %}',
  '{% if done.size > 0 %}Look at the results in the testing service.{% endif %}',
  '{% if done.size > 0 and done.size < events.size %} {% endif %}',
  '{% if done.size < events.size %}Where a test was not taken or was canceled, there is no result: decide whom to invite again.{% endif %}',
].join('');

/** The events of a digest by test. `group.items` are those of one; `event` is the first of them in `head`. */
export const forEachTest = (head: string, body: string): string =>
  [
    '{% assign groups = events | group_by: "testId" %}{% for group in groups %}',
    `{% for event in group.items limit: 1 %}${head}{% endfor %}${body}{% endfor %}`,
  ].join('');

/** When a digest's events came. */
export const receivedBetween =
  '{{ events.first.receivedAt | date }}{% if events.size > 1 %} to {{ events.last.receivedAt | date }}{% endif %}';

/** `3 deliveries to mail given up`. */
export const noticeInShort = [
  '{% if notice.recovered %}{% if notice.sink %}{{ notice.sink }} works again{% else %}the changed config is in force{% endif %}{% else %}',
  '{% case notice.alert %}{% when "dead" %}{{ notice.count }} ',
  '{% if notice.count == 1 %}delivery{% else %}deliveries{% endif %} to {{ notice.sink }} given up',
  '{% when "held" %}{{ notice.count }} {% if notice.count == 1 %}delivery{% else %}deliveries{% endif %} to {{ notice.sink }} held for a person to decide',
  '{% when "paused" %}{{ notice.sink }} is down',
  '{% when "config" %}the changed config was refused',
  '{% when "summary" %}the week: {{ notice.count }} {% if notice.count == 1 %}event{% else %}events{% endif %}',
  '{% when "silence" %}no event since {{ notice.since | date }}{% else %}{{ notice.detail }}{% endcase %}{% endif %}',
].join('');

/** What differs between trouble, its end, and the weekly summary, such as a colour. */
export const perNotice = (values: {
  readonly trouble: string;
  readonly recovered: string;
  readonly summary: string;
}): string =>
  `{% if notice.recovered %}${values.recovered}{% elsif notice.alert == "summary" %}${values.summary}{% else %}${values.trouble}{% endif %}`;

const sinceWords = perNotice({ trouble: 'Since', recovered: 'It began', summary: 'From' });

/** When what a notice tells of began. */
export const noticeBegan = `${sinceWords} {{ notice.since | date }}`;
