import { afterEach, describe, expect, test as it } from 'vitest';
import { dataOf, render } from './tools.ts';

const machineZone = process.env['TZ'];
afterEach(() => {
  if (machineZone === undefined) delete process.env['TZ'];
  else process.env['TZ'] = machineZone;
});

describe.each(['UTC', 'America/New_York', 'Europe/Zagreb', 'Pacific/Apia'])('on a machine in %s', (zone) => {
  it('really is there', () => {
    process.env['TZ'] = zone;
    expect(new Intl.DateTimeFormat().resolvedOptions().timeZone).toBe(zone);
  });

  it.each([
    // Europe/Zagreb, the hour that is skipped and the one that comes twice
    ['2026-03-29T00:59:59Z', '"%F %T %z", "Europe/Zagreb"', '2026-03-29 01:59:59 +0100'],
    ['2026-03-29T01:00:00Z', '"%F %T %z", "Europe/Zagreb"', '2026-03-29 03:00:00 +0200'],
    ['2026-10-25T00:30:00Z', '"%F %T %:z", "Europe/Zagreb"', '2026-10-25 02:30:00 +02:00'],
    ['2026-10-25T01:30:00Z', '"%F %T %:z", "Europe/Zagreb"', '2026-10-25 02:30:00 +01:00'],
    // America/New_York changes its clock while others do not; Apia skipped a whole day
    ['2026-03-08T07:00:00Z', '"%F %H:%M", "America/New_York"', '2026-03-08 03:00'],
    ['2011-12-30T10:00:00Z', '"%F", "Pacific/Apia"', '2011-12-31'],
    [
      '2026-07-01T23:30:00Z',
      '"%A, %-d %B %Y %l:%M %P %Z", "Asia/Kolkata"',
      'Thursday, 2 July 2026  5:00 am Asia/Kolkata',
    ],
    // Without a zone
    ['2026-03-29T02:30:00Z', '"%F %H:%M %Z"', '2026-03-29 02:30 UTC'],
    ['2026-03-29T02:30:00', '"%F %H:%M"', '2026-03-29 02:30'],
    ['2026-03-29 02:30', '"%F %H:%M"', '2026-03-29 02:30'],
    ['2026-03-29', '"%F %H:%M"', '2026-03-29 00:00'],
    // A day is the same day in each zone.
    ['2026-03-08', '"%F %T %z", "America/New_York"', '2026-03-08 00:00:00 -0500'],
    ['2026-03-29', '"%F %T %z", "Asia/Tokyo"', '2026-03-29 00:00:00 +0900'],
    ['2011-12-30', '"%F %T", "Pacific/Apia"', '2011-12-31 00:00:00'],
    ['2026-02-31', '"%F %H:%M"', '2026-02-31'],
    ['March 29, 2026 02:30', '"%F %H:%M"', '2026-03-29 02:30'],
    // With a zone of its own
    ['2026-03-29T02:30:00+05:30', '"%F %H:%M"', '2026-03-28 21:00'],
    ['Sun, 29 Mar 2026 02:30:00 GMT', '"%F %H:%M", "+02:00"', '2026-03-29 04:30'],
    ['1774751400', '"%F %H:%M"', '2026-03-29 02:30'],
    ['2026-03-29T02:30:00Z', '"%H:%M", -60', '03:30'],
  ])('%s as %s is %s', (moment, args, shown) => {
    process.env['TZ'] = zone;
    expect(render(`{{ event.raw.at | date: ${args} }}`, dataOf({ raw: { at: moment } }))).toBe(shown);
  });
});

it.each([
  ['{{ event.receivedAt | date: "%H:%M", "Europe/Zagreb" }}', '01:30'],
  ['{{ now | date: "%H:%M", "Europe/Zagreb" }}', '14:00'],
  ['{{ "now" | date: "%F" }} {{ "today" | date: "%F" }}', '2026-07-01 2026-07-01'],
  ['{{ now | date }}', 'Wed, 1 Jul 2026, 12:00 UTC'],
  ['{{ now | date: "short" }}', '1 Jul, 12:00'],
  // The time as in the long form, and on the pages.
  ['{{ "2026-11-23T06:05:58Z" | date: "short" }}', '23 Nov, 06:05'],
  ['{{ now | date_range: now }}', 'Wed, 1 Jul 2026, 12:00 UTC'],
  ['{{ now | date_range: "2026-07-01T15:25:00Z" }}', 'Wed, 1 Jul 2026, 12:00–15:25 UTC'],
  ['{{ "2026-06-30" | date_range: now }}', 'Tue, 30 Jun 2026, 00:00 UTC – Wed, 1 Jul 2026, 12:00 UTC'],
  ['{{ now | date_range }} {{ "x" | date_range: now }}', 'Wed, 1 Jul 2026, 12:00 UTC x'],
  ['{{ now | date_range: "2026-06-30" }}', 'Wed, 1 Jul 2026, 12:00 UTC – Tue, 30 Jun 2026, 00:00 UTC'],
  ['{{ now | date_to_xmlschema: "Europe/Zagreb" }}', '2026-07-01T14:00:00+02:00'],
  ['{{ now | date_to_rfc822 }}', 'Wed, 01 Jul 2026 12:00:00 +0000'],
  [
    '{{ now | date_to_string }} {{ now | date_to_long_string: "ordinal", "US" }}',
    '01 Jul 2026 July 1st, 2026',
  ],
  [
    '{% for day in (10..14) %}{{ day | prepend: "2026-07-" | date: "%-d%q" }} {% endfor %}',
    '10th 11th 12th 13th 14th ',
  ],
  ['{{ event.status | date: "%F" }}', 'Completed'],
  ['[{{ nil | date: "%F" }}{{ "" | date: "%F" }}]', '[]'],
  ['{{ 99999999999999999 | date: "%F" }}', '100000000000000000'],
  ['{{ 8640000000000 | date: "%Y" }} {{ 8640000000001 | date: "%Y" }}', '275760 8640000000001'],
])('%s prints %s', (template, printed) => {
  expect(render(template)).toBe(printed);
});

it('shows a time in UTC, and says so, where the catalog misspells the zone', () => {
  const data = dataOf({}, { id: 1, name: 'Europe/Zagrb', channel: null, owner: null, tags: null });
  expect(render('{{ now | date: "%H:%M", test.name }}', data)).toBe('12:00 UTC');
});

/** Each code of Ruby's strftime, by hand from its manual, for Sunday 2026-01-04 at 09:05:07.089 in Zagreb. */
it.each([
  ['%a %A %b %B %h', 'Sun Sunday Jan January Jan'],
  ['%d %-d %e %_d %3d', '04 4  4  4 004'],
  ['%H %k %I %l %-I %p %P %^P %#p', '09  9 09  9 9 AM am AM am'],
  ['%M %S %L %N %3N', '05 07 089 089000000 089'],
  ['%m %-m %j %y %Y %C %G', '01 1 004 26 2026 20 2026'],
  ['%U %W %V %u %w', '01 00 01 7 0'],
  ['%z %:z %Z %s', '+0100 +01:00 Europe/Zagreb 1767513907'],
  ['%D %F %T %R %x %X', '01/04/26 2026-01-04 09:05:07 09:05 01/04/26 09:05:07'],
  ['%c|%n|%t|%%|%q|%^B|%10A|%-10A', 'Sun Jan  4 09:05:07 2026|\n|\t|%|th|JANUARY|    Sunday|Sunday'],
])('%s is %s', (format, shown) => {
  const data = dataOf({ receivedAt: Date.parse('2026-01-04T08:05:07.089Z') });
  expect(render(`{{ event.receivedAt | date: "${format}", "Europe/Zagreb" }}`, data)).toBe(shown);
});
