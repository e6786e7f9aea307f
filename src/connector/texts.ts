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

// The default texts of digests and notices: templates of one line, for any medium.

const statusWords = (status: string): string =>
  `{% case ${status} %}{% when "Completed" %}completed{% when "DidNotTake" %}did not take it{% else %}canceled{% endcase %}`;

/** `Candidates: 2 completed, 1 canceled`. */
export const digestInShort = [
  'Candidates: {% assign statuses = events | map: "status" | uniq %}{% for status in statuses %}',
  '{% assign same = events | where: "status", status %}{{ same.size }} ',
  statusWords('status'),
  '{% unless forloop.last %}, {% endunless %}{% endfor %}',
].join('');

/** One `event` of a digest: `Backend Engineer: 0123… completed, 2026-11-20 09:14 UTC`; `test 7: …` without a name. */
export const eventInShort = [
  '{% if event.test.name %}{{ event.test.name }}{% else %}test {{ event.testId }}{% endif %}: {{ event.candidateId }} ',
  statusWords('event.status'),
  ', {{ event.receivedAt | date: "%Y-%m-%d %H:%M" }} UTC',
].join('');

/** `3 deliveries to mail given up`. */
export const noticeInShort = [
  '{% case notice.alert %}{% when "dead" %}{{ notice.count }} ',
  '{% if notice.count == 1 %}delivery{% else %}deliveries{% endif %} to {{ notice.sink }} given up',
  '{% when "held" %}{{ notice.count }} {% if notice.count == 1 %}delivery{% else %}deliveries{% endif %} to {{ notice.sink }} held for a person to decide',
  '{% when "paused" %}{{ notice.sink }} is down',
  '{% else %}no event since {{ notice.since | date: "%Y-%m-%d %H:%M" }} UTC{% endcase %}',
].join('');
