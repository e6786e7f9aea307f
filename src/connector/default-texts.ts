/**
 * Templates from which connectors put together what a digest or a notice says where its action does not. Single lines,
 * for any medium.
 */

const statusWords = (status: string): string =>
  `{% case ${status} %}{% when "Completed" %}completed{% when "DidNotTake" %}did not take it{% else %}canceled{% endcase %}`;

/** `Candidates: 2 completed, 1 canceled`. */
export const digestInShort = [
  'Candidates: {% assign statuses = events | map: "status" | uniq %}{% for status in statuses %}',
  '{% assign same = events | where: "status", status %}{{ same.size }} ',
  statusWords('status'),
  '{% unless forloop.last %}, {% endunless %}{% endfor %}',
].join('');

/** One `event` of a digest: `Backend Engineer: 0123… completed, 2026-11-20 09:14 UTC`, or `test 7: 0123…` without a name. */
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
