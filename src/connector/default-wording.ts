import type { Status } from '../model.ts';

// What default messages say: parts of templates, for any medium. In a loop over the `events` of a digest, what belongs to
// an event is inside of it.

/** The fields of the look-up `candidate`, by name; none without it. */
export type CandidateFields = ReadonlyMap<string, { readonly type: string }>;

/** Where the test, the links and what was looked up of `event` are. */
interface Around {
  readonly test: string;
  readonly links: string;
  readonly candidate: string;
  readonly fields: CandidateFields;
}

const none: CandidateFields = new Map();

export const ofMessage = (fields = none): Around => ({
  test: 'test',
  links: 'links',
  candidate: 'candidate',
  fields,
});
export const ofEntry = (fields = none): Around => ({
  test: 'event.test',
  links: 'event.links',
  candidate: 'event.candidate',
  fields,
});

/** What stands there if a field of the look-up `candidate` is known, and otherwise. */
export function ifKnown(
  { candidate, fields }: Around,
  field: string,
  known: (value: string) => string,
  otherwise = '',
): string {
  const value = `${candidate}.${field}`;
  if (!fields.has(field)) return otherwise;
  return `{% if ${value} %}${known(value)}${otherwise && `{% else %}${otherwise}`}{% endif %}`;
}

/** `: 87 %`, where it is known. */
const score = (around: Around): string =>
  ifKnown(around, 'score', (value) =>
    around.fields.get('score')?.type === 'number' ? `: {{ ${value} | number }} %` : `: {{ ${value} }}`,
  );

/** Where people read on: the candidate's report if it is known, else their page, if there is a link to it. */
export function readOn(
  around: Around,
  hasLink: boolean,
  as: (address: string, text: string) => string,
): string {
  const page = hasLink ? as(`{{ ${around.links}.candidate }}`, 'Open candidate') : '';
  return around.fields.get('report')?.type === 'url'
    ? ifKnown(around, 'report', (value) => as(`{{ ${value} }}`, 'Open report'), page)
    : page;
}

/** `Backend Engineer`; `Test 7` without a name. */
export const testName = ({ test }: Around): string =>
  `{% if ${test}.name %}{{ ${test}.name }}{% else %}Test {{ event.testId }}{% endif %}`;

/** The same where it stands alone: `Test: Backend Engineer`. By its name only, it could be a job. */
export const testTitle = (around: Around): string =>
  `{% if ${around.test}.name %}Test: {% endif %}${testName(around)}`;

/** The candidate's number, `4711`; `6f1c2d3e…` without one. */
export const candidateNumber =
  '{% assign id = event.candidateId | short %}{{ event.candidateNumericalId | default: id }}';

const named = (around: Around, otherwise: string): string =>
  ifKnown(around, 'name', (value) => `{{ ${value} }}`, otherwise);

/** The candidate's name, or number. */
const candidate = (around: Around): string => named(around, candidateNumber);

/** The same; the whole id where nothing else leads to the candidate. */
export const candidateInList = (around: Around, hasLink: boolean): string =>
  hasLink
    ? candidate(around)
    : named(around, '{{ event.candidateNumericalId | default: event.candidateId }}');

/** The whole ids: they are what people search for. */
export const wholeIds = 'Candidate id {{ event.candidateId }} | Test id {{ event.testId }}';

/** `Ana Kovač completed Backend Engineer: 87 %`. */
export function sentence(around: Around, who: string): string {
  const test = testName(around);
  const did = perStatus({
    Completed: ` completed ${test}`,
    DidNotTake: ` did not take ${test}`,
    Canceled: `: ${test}, test canceled`,
  });
  return `${who}${did}${score(around)}`;
}

/** Before what became of the test, after the candidate: nothing that was done by the candidate when it was canceled. */
const then = (canceled: string): string => `{% if event.status == "Canceled" %}${canceled}{% endif %} `;

/** `Candidate 4711 completed the test: 87 %`. */
export const whatHappened = (around: Around, who: string): string =>
  `Candidate ${who}${then(':')}{{ event.status | words }}${score(around)}`;

/** `Backend Engineer: candidate 4711 completed the test`. */
export const inShort = (around: Around, who: string): string =>
  `${testName(around)}: candidate ${who}${then(',')}{{ event.status | words }}${score(around)}`;

/** The same, or something else where the name is not known. */
export const headline = (around: Around, otherwise: string): string =>
  ifKnown(around, 'name', (name) => sentence(around, `{{ ${name} }}`), otherwise);

/** `Backend Engineer: candidate 4711 completed the test`, where the name is not known. */
export const eventInShort = (around: Around = ofMessage()): string =>
  headline(around, inShort(around, candidateNumber));

/** What differs by status, such as a colour. `status`: where it is. */
export function perStatus(values: { readonly [status in Status]: string }, status = 'event.status'): string {
  return `{% case ${status} %}{% when "Completed" %}${values.Completed}{% when "DidNotTake" %}${values.DidNotTake}{% else %}${values.Canceled}{% endcase %}`;
}

export const eventTitle = perStatus({
  Completed: 'Completed',
  DidNotTake: 'Did not take the test',
  Canceled: 'Canceled',
});

const toDecide = {
  DidNotTake: 'There is no result. Decide whether to invite the candidate again.',
  Canceled: 'There will be no result. If that was not meant, invite the candidate again.',
};

/** What a reader may do about an event. */
export const whatNext = perStatus({ Completed: 'Look at the result in the testing service.', ...toDecide });

/** The same, where there is something to decide. `shown`: how it is said. */
export const ifToDecide = (shown: (what: string) => string): string =>
  perStatus({ Completed: '', DidNotTake: shown(toDecide.DidNotTake), Canceled: shown(toDecide.Canceled) });

/** What stands behind a count. */
export const statusInCounts: { readonly [status in Status]: string } = {
  Completed: 'completed',
  DidNotTake: 'did not take the test',
  Canceled: 'canceled',
};

/** `2 completed, 1 canceled`, of a list of events. */
export const countsByStatus = (events: string): string =>
  [
    `{% assign statuses = ${events} | map: "status" | uniq %}{% for status in statuses %}`,
    `{% assign same = ${events} | where: "status", status %}{{ same.size | number }} ${perStatus(statusInCounts, 'status')}`,
    '{% unless forloop.last %}, {% endunless %}{% endfor %}',
  ].join('');

/**
 * As eventInShort for one event; `Test: Backend Engineer (2 completed, 1 canceled)` for several of one test;
 * `4 candidates of 2 tests: 3 completed, 1 canceled`. A candidate of two tests counts once.
 */
export const digestInShort = (around: Around): string =>
  [
    '{% assign tests = events | map: "testId" | uniq %}{% assign people = events | map: "candidateId" | uniq %}',
    `{% for event in events limit: 1 %}{% if events.size == 1 %}${eventInShort(around)}`,
    `{% elsif tests.size == 1 %}${testTitle(around)} (${countsByStatus('events')})`,
    '{% else %}{{ people.size | number }} candidate{% if people.size > 1 %}s{% endif %} of {{ tests.size | number }} tests: ',
    `${countsByStatus('events')}{% endif %}{% endfor %}`,
  ].join('');

/** What a reader may do about the events of a digest. */
export const whatNextOfDigest = [
  '{% assign done = events | where: "status", "Completed" %}',
  '{% if done.size > 0 %}Look at the results in the testing service.{% endif %}',
  '{% if done.size > 0 and done.size < events.size %} {% endif %}',
  '{% if done.size < events.size %}Where a test was not taken or was canceled, there is no result: decide whom to invite again.{% endif %}',
].join('');

/** What is said of a digest's only event, or of several. */
export const ofOneOrMore = (one: string, more: string): string =>
  `{% if events.size == 1 %}{% for event in events %}${one}{% endfor %}{% else %}${more}{% endif %}`;

/** When an event came, where that was long before this is said: it waited for its hours, or a tool was down. */
export const receivedEarlier = [
  '{% assign came = event.receivedAt | date: "%s" %}{% assign waited = now | date: "%s" | minus: came %}',
  '{% if waited > 3600 %}, {{ event.receivedAt | date: "short" }}{% endif %}',
].join('');

/** The events of a digest by test. `group.items` are those of one; `event` is the first of them in `head`. */
export const forEachTest = (head: string, body: string): string =>
  [
    '{% assign groups = events | group_by: "testId" %}{% for group in groups %}',
    `{% for event in group.items limit: 1 %}${head}{% endfor %}${body}{% endfor %}`,
  ].join('');

/** What heads the events of a test: nothing where it is the only one, which the digest's title names. */
export const headOfTest = (head: string): string => `{% if groups.size > 1 %}${head}{% endif %}`;

/** The counts of a test's events, unless there is only one, which says so itself. */
export const countsOfTest = (shown: (counts: string) => string): string =>
  `{% if group.items.size > 1 %}${shown(countsByStatus('group.items'))}{% endif %}`;

/** When a digest's events came: `Received Fri, 20 Nov 2026, 13:05–15:25 CET`. */
export const receivedBetween = 'Received {{ events.first.receivedAt | date_range: events.last.receivedAt }}';

/** `3 deliveries to mail given up`. */
export const noticeInShort = [
  '{% if notice.recovered %}{% if notice.sink %}{{ notice.sink }} works again{% else %}the changed config is in force{% endif %}{% else %}',
  '{% case notice.alert %}{% when "dead", "held" %}{{ notice.count }} ',
  '{% if notice.count == 1 %}delivery{% else %}deliveries{% endif %} ',
  'to {{ notice.sink }} {% if notice.alert == "held" %}held for a person to decide',
  '{% elsif notice.missed %}went out, but not as meant{% else %}given up{% endif %}',
  '{% when "paused" %}messages to {{ notice.sink }} do not go out',
  '{% when "config" %}the changed config was refused',
  '{% when "refused" %}{{ notice.count }} {% if notice.count == 1 %}event{% else %}events{% endif %} refused, from {{ notice.from }}',
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
