import { lookupSink, type Status } from '../model.ts';
import type { Placeholder, TextName } from '../words/wording.ts';

// The parts of default messages: pieces of templates, for any medium. Within a loop over the `events` of a digest, an event's
// test, links and facts are its own members.

/** The fields of the look-up `candidate`, by name; none without it. */
export type CandidateFields = ReadonlyMap<string, { readonly type: string }>;

/** The variables in which a template finds the test, links and facts of `event`. */
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

/** The parts of templates for the placeholders of a text; for `count`, a variable that has the number. */
type Parts<Name extends TextName> = { readonly [key in Placeholder<Name>]: string };

/** The template of a default text, by its name, in the language of the config. The parts may have markup. */
export const said = <Name extends TextName>(
  name: Name,
  ...parts: Placeholder<Name> extends never ? [] : [Parts<Name>]
): string => filled(`"${name}"`, name, parts[0] ?? {});

/** The names of texts that exist for each status, without the status. */
type PerStatus<Name extends string> = Name extends `${infer Start}Completed` ? Start : never;
type OfStatus = PerStatus<TextName>;

/** The template of the text for the event's status: of those that begin alike, such as `candidateCompleted`. */
const saidOfStatus = <Start extends OfStatus>(
  start: Start,
  ...parts: Placeholder<`${Start}Completed`> extends never ? [] : [Parts<`${Start}Completed`>]
): string => filled(`event.status | prepend: "${start}"`, start, parts[0] ?? {});

/** Match a part that is one variable, and one that is a value with filters. */
const onlyVariable = /^\{\{ ([\w.]+) \}\}$/;
const onlyValue = /^\{\{ ([^{}]+) \}\}$/;

function filled(name: string, prefix: string, parts: { readonly [key: string]: string }): string {
  const before: string[] = [];
  const values = Object.entries(parts).map(([key, part]) => {
    if (key === 'count') return `count: ${part}`;
    const [, variable] = onlyVariable.exec(part) ?? [];
    if (variable) return `${key}: ${variable}`;
    const own = `${prefix}_${key}`;
    const [, value] = onlyValue.exec(part) ?? [];
    before.push(value ? `{% assign ${own} = ${value} %}` : `{% capture ${own} %}${part}{% endcapture %}`);
    return `${key}: ${own}`;
  });
  return `${before.join('')}{{ ${name} | say${values.length > 0 ? `: ${values.join(', ')}` : ''} }}`;
}

/** Facts of a result. An API may know them of another test, so that they would mislead beside an event without a result. */
const ofResult: ReadonlySet<string> = new Set(['score', 'report']);

/** `known` if a field of the look-up `candidate` is known, not empty, and belongs to the event, else `otherwise`. */
export function ifKnown(
  { candidate, fields }: Around,
  field: string,
  known: (value: string) => string,
  otherwise = '',
): string {
  const value = `${candidate}.${field}`;
  if (!fields.has(field)) return otherwise;
  const belongs = ofResult.has(field) ? ' and event.status == "Completed"' : '';
  return `{% if ${value} != blank${belongs} %}${known(value)}${otherwise && `{% else %}${otherwise}`}{% endif %}`;
}

/** A message with the score, where it is known: `…: 87%`. */
function withScore(around: Around, message: string): string {
  const type = around.fields.get('score')?.type;
  if (type === undefined) return message;
  const text = type === 'number' ? 'withPercent' : 'withScore';
  const scored = (value: string) =>
    said(text, { message: '{{ message }}', score: `{{ ${value} | number }}` });
  return `{% capture message %}${message}{% endcapture %}${ifKnown(around, 'score', scored, '{{ message }}')}`;
}

/** A link to the candidate's report if it is known, else to the candidate's page if there is a link to it. */
export function readOn(
  around: Around,
  hasLink: boolean,
  as: (address: string, text: string) => string,
): string {
  const page = hasLink ? as(`{{ ${around.links}.candidate }}`, said('openCandidate')) : '';
  return around.fields.get('report')?.type === 'url'
    ? ifKnown(around, 'report', (value) => as(`{{ ${value} }}`, said('openReport')), page)
    : page;
}

/** `Backend Engineer`; `Test 7` without a name. */
export const testName = ({ test }: Around): string =>
  `{% if ${test}.name %}{{ ${test}.name }}{% else %}${said('testNumber', { id: '{{ event.testId }}' })}{% endif %}`;

/** The name of a test as a title: `Test: Backend Engineer`. Without "Test", it could be a job. */
export const testTitle = (around: Around): string =>
  `{% if ${around.test}.name %}${said('testTitle', { test: `{{ ${around.test}.name }}` })}{% else %}${testName(around)}{% endif %}`;

/** The candidate's number, `4711`; `6f1c2d3e…` without one. */
export const candidateNumber =
  '{% assign id = event.candidateId | short %}{{ event.candidateNumericalId | default: id }}';

/** The candidate's number; the whole id where there is neither a number nor a link to the candidate. */
export const numberInList = (hasLink: boolean): string =>
  hasLink ? candidateNumber : '{{ event.candidateNumericalId | default: event.candidateId }}';

/** The candidate's name where it is known, else the number, else the whole id. */
export const candidateInList = (around: Around): string =>
  ifKnown(around, 'name', (name) => `{{ ${name} }}`, numberInList(false));

/** The whole ids, which people search for. */
export const wholeIds = said('ids', {
  candidate: '{{ event.candidateId }}',
  test: '{{ event.testId }}',
});

const status = '{{ event.status | words }}';

/** `Ana Kovač completed Backend Engineer: 87%`. */
export const sentence = (around: Around, who: string): string =>
  withScore(around, saidOfStatus('person', { name: who, test: testName(around) }));

/** `Candidate 4711 completed the test: 87%`. */
export const whatHappened = (around: Around, who: string): string =>
  withScore(around, saidOfStatus('candidate', { candidate: who, status }));

/** `Ana Kovač completed the test: 87%` beside the name of the test, or as whatHappened. `shown`: makes a link of a name or number. */
export const whatHappenedInList = (
  around: Around,
  hasLink: boolean,
  shown: (who: string) => string = (who) => who,
): string =>
  ifKnown(
    around,
    'name',
    (name) => withScore(around, saidOfStatus('named', { name: shown(`{{ ${name} }}`), status })),
    whatHappened(around, shown(numberInList(hasLink))),
  );

/** `Backend Engineer: candidate 4711 completed the test`. */
export const inShort = (around: Around, who: string): string =>
  withScore(around, saidOfStatus('short', { test: testName(around), candidate: who, status }));

/** `Ana Kovač completed Backend Engineer: 87%`, or `otherwise` where the name is not known. */
export const headline = (around: Around, otherwise: string): string =>
  ifKnown(around, 'name', (name) => sentence(around, `{{ ${name} }}`), otherwise);

/** An event in one line: by the name where it is known, else as inShort. */
export const eventInShort = (around: Around = ofMessage()): string =>
  headline(around, inShort(around, candidateNumber));

/** A value for each status, such as a colour. */
export function perStatus(values: { readonly [status in Status]: string }): string {
  return `{% case event.status %}{% when "Completed" %}${values.Completed}{% when "DidNotTake" %}${values.DidNotTake}{% else %}${values.Canceled}{% endcase %}`;
}

export const eventTitle = saidOfStatus('title');

/** The next step for a reader. */
export const whatNext = saidOfStatus('next');

/** The next step, where there is something to decide. `shown`: makes the sentence. */
export const ifToDecide = (shown: (what: string) => string): string =>
  `{% if event.status != "Completed" %}${shown(whatNext)}{% endif %}`;

/** `2 completed, 1 canceled`, of a list of events. */
export const countsByStatus = (events: string): string =>
  [
    `{% assign statuses = ${events} | map: "status" | uniq %}{% for status in statuses %}`,
    `{% assign same = ${events} | where: "status", status %}{{ status | prepend: "count" | say: count: same.size }}`,
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
    `{% elsif tests.size == 1 %}${testTitle(around)} (${countsByStatus('events')}){% else %}`,
    said('digest', {
      candidates: said('candidates', { count: 'people.size' }),
      tests: said('tests', { count: 'tests.size' }),
      counts: countsByStatus('events'),
    }),
    '{% endif %}{% endfor %}',
  ].join('');

/** `one` for a digest's only event, `more` for several. */
export const ofOneOrMore = (one: string, more: string): string =>
  `{% if events.size == 1 %}{% for event in events %}${one}{% endfor %}{% else %}${more}{% endif %}`;

/** The next step for a reader of a digest. */
export const whatNextOfDigest = ofOneOrMore(
  whatNext,
  [
    '{% assign done = events | where: "status", "Completed" %}',
    `{% if done.size > 0 %}${said('nextResults')}{% endif %}`,
    '{% if done.size > 0 and done.size < events.size %} {% endif %}',
    `{% if done.size < events.size %}${said('nextNoResults')}{% endif %}`,
  ].join(''),
);

/**
 * The time of an event, where that was an hour or more before the message: it waited for its hours, or a tool was down. UTC
 * is named, as nobody takes it for the time of day.
 */
export const receivedEarlier = [
  '{% assign came = event.receivedAt | date: "%s" %}{% assign waited = now | date: "%s" | minus: came %}',
  '{% assign zone = now | date: "%Z" %}{% if waited > 3600 %}, {{ event.receivedAt | date: "short" }}',
  '{% if zone == "UTC" %} UTC{% endif %}{% endif %}',
].join('');

/** A loop over the tests of a digest. `group.items` are the events of one test; in `head`, `event` is the first of them. */
export const forEachTest = (head: string, body: string): string =>
  [
    '{% assign groups = events | group_by: "testId" %}{% for group in groups %}',
    `{% for event in group.items limit: 1 %}${head}{% endfor %}${body}{% endfor %}`,
  ].join('');

/** The heading of a test's events; empty where there is one test only, which the digest's title names. */
export const headOfTest = (head: string): string => `{% if groups.size > 1 %}${head}{% endif %}`;

/** The counts of a test's events by status; empty where there is only one event. */
export const countsOfTest = (shown: (counts: string) => string): string =>
  `{% if group.items.size > 1 %}${shown(countsByStatus('group.items'))}{% endif %}`;

/** `Received Fri, 20 Nov 2026, 13:05–15:25 CET`, for a digest. */
export const receivedBetween = said('received', {
  time: '{{ events.first.receivedAt | date_range: events.last.receivedAt }}',
});

const ofSink = { count: 'notice.count', sink: '{{ notice.sink }}' };
const lookup = { lookup: `{{ notice.sink | remove_first: "${lookupSink('')}" }}` };

/** `ofIt` for a notice about a sink, `ofLookup` for one about a look-up. */
const bySink = (ofIt: string, ofLookup: string): string =>
  `{% if notice.sink contains "${lookupSink('')}" %}${ofLookup}{% else %}${ofIt}{% endif %}`;

const works = bySink(said('noticeWorks', { sink: ofSink.sink }), said('noticeLookupWorks', lookup));
const paused = bySink(said('noticePaused', { sink: ofSink.sink }), said('noticeLookup', lookup));

/** `3 deliveries to mail given up`. */
export const noticeInShort = [
  `{% if notice.recovered %}{% if notice.sink %}${works}{% else %}${said('noticeInForce')}{% endif %}`,
  `{% else %}{% case notice.alert %}{% when "dead" %}{% if notice.missed %}${said('noticeMissed', ofSink)}{% else %}${said('noticeDead', ofSink)}{% endif %}`,
  `{% when "held" %}${said('noticeHeld', ofSink)}`,
  `{% when "paused" %}${paused}`,
  `{% when "config" %}${said('noticeConfig')}`,
  `{% when "refused" %}${said('noticeRefused', { count: 'notice.count', from: '{{ notice.from }}' })}`,
  `{% when "summary" %}${said('noticeSummary', { count: 'notice.count' })}`,
  `{% when "silence" %}${said('noticeSilence', { time: '{{ notice.since | date }}' })}`,
  '{% else %}{{ notice.detail }}{% endcase %}{% endif %}',
].join('');

/** A notice in short, with who says so. */
export const noticeTitle = `{% if notice.late %}${said('noticeTitleLate', { notice: noticeInShort })}{% else %}${said('noticeTitle', { notice: noticeInShort })}{% endif %}`;

/** A value for trouble, for its end and for the weekly summary, such as a colour. */
export const perNotice = (values: {
  readonly trouble: string;
  readonly recovered: string;
  readonly summary: string;
}): string =>
  `{% if notice.recovered %}${values.recovered}{% elsif notice.alert == "summary" %}${values.summary}{% else %}${values.trouble}{% endif %}`;

const began = { time: '{{ notice.since | date }}' };

/** When the trouble of a notice began. */
export const noticeBegan = perNotice({
  trouble: said('since', began),
  recovered: said('began', began),
  summary: said('from', began),
});
