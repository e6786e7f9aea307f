import { expect, test } from 'vitest';
import { readTraceparent, traceIdOf, traceparentFor } from '../../src/support/trace.ts';

const ids = '4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7';

test.each([
  [`00-${ids}-01`, `00-${ids}-01`],
  [`00-${ids}-00`, `00-${ids}-00`],
  // Flags without a meaning yet go no further.
  [`00-${ids}-ff`, `00-${ids}-03`],
  [`00-${ids}-fc`, `00-${ids}-00`],
  [`01-${ids}-01`, `00-${ids}-01`],
  [`fe-${ids}-01-what-comes-later`, `00-${ids}-01`],
  [`00-${ids}-01-more`, null],
  [`01-${ids}-01more`, null],
  [`00-${ids}-01, 00-${ids}-01`, null],
  [`ff-${ids}-01`, null],
  [`0-${ids}-01`, null],
  [`00-${ids}-1`, null],
  [`00-${ids}-0x`, null],
  [`00-${ids.toUpperCase()}-01`, null],
  [`00-${ids.replace('-', '_')}-01`, null],
  [`00-${'0'.repeat(32)}-00f067aa0ba902b7-01`, null],
  [`00-4bf92f3577b34da6a3ce929d0e0e4736-${'0'.repeat(16)}-01`, null],
  ['', null],
  [undefined, null],
])('traceparent %s is read as %s', (header, read) => {
  expect(readTraceparent(header)).toBe(read);
});

test('a trace that began here has the bits of its event’s id, and a parent for each call', () => {
  const event = { id: 'evt_01arz3ndekasv4rrffq69g5fav', traceparent: null };
  // The specification of ULIDs: 01ARZ3NDEK is 1469922850259 ms.
  expect(traceIdOf(event)).toBe('01563e3ab5d356764c61efb99302bd5b');
  const [one, other] = [traceparentFor(event), traceparentFor(event)];
  expect(one).toMatch(/^00-01563e3ab5d356764c61efb99302bd5b-[\da-f]{16}-01$/);
  expect(other).not.toBe(one);
  expect(traceparentFor({ ...event, traceparent: `00-${ids}-00` })).toMatch(
    /^00-4bf92f3577b34da6a3ce929d0e0e4736-(?!00f067aa0ba902b7)[\da-f]{16}-00$/,
  );
});
