import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Json } from '../../src/model.ts';
import { parseCandidateEvent, type ParsedEvent } from '../../src/receiver/candidate-event.ts';
import { sample, shortSample } from './receiver.ts';
import { anyCharacter } from '../fixtures/runs.ts';

const eventOf = (body: Json) => {
  const parsed = parseCandidateEvent(body);
  return 'event' in parsed ? parsed.event : parsed.faults;
};
const withField = (field: string, value: Json) => eventOf({ ...sample, [field]: value });
const faultOf = (field: string, value: Json) => {
  const parsed = parseCandidateEvent({ ...sample, [field]: value });
  return 'faults' in parsed ? parsed.faults.map((fault) => `${fault.field}: ${fault.detail}`) : [];
};

describe('both variants of the payload are one event', () => {
  test('with the numerical id', () => {
    expect(eventOf(sample)).toEqual(sample);
  });

  test('without it, and with null in its place', () => {
    expect(eventOf(shortSample)).toEqual({ ...shortSample, candidateNumericalId: null });
    expect(withField('candidateNumericalId', null)).toEqual({ ...sample, candidateNumericalId: null });
  });
});

describe('a GUID becomes 32 lowercase hex digits, in whatever form it is written', () => {
  const hyphened = '0F8FAD5B-D9CB-469F-A165-70867728950E';
  test.each([
    hyphened,
    hyphened.toLowerCase(),
    hyphened.replaceAll('-', ''),
    `{${hyphened}}`,
    `(${hyphened})`,
    `{${hyphened.replaceAll('-', '')}}`,
    `urn:uuid:${hyphened}`,
    `URN:UUID:${hyphened}`,
    ` ${hyphened}\n`,
  ])('%j', (spelling) => {
    expect(withField('candidateId', spelling)).toEqual(sample);
  });

  test.each([
    'cand-0042',
    `{${hyphened})`,
    `{${hyphened}`,
    `${hyphened}}`,
    hyphened.replace('-', ''),
    `${hyphened}0`,
    hyphened.replace('0', 'G'),
    'ÄÖ'.repeat(16),
  ])('what only looks like one stays as it is: %j', (id) => {
    expect(withField('candidateId', id)).toMatchObject({ candidateId: id });
  });
});

describe('hostile ids are plain text, or refused with the reason', () => {
  test.each([
    '=HYPERLINK("http://evil")',
    '<!channel>',
    '<script>alert(1)</script>',
    "'; drop table events; --",
    '{{ event.raw }}',
    '\u202Eright to left\u202C',
    'שלום مرحبا',
    '👩‍👩‍👧‍👦',
    'line\u2028separator',
    '__proto__',
    'x'.repeat(256),
    '😀'.repeat(256),
  ])('taken: %j', (id) => {
    expect(withField('candidateId', id)).toMatchObject({ candidateId: id });
  });

  test.each([
    ['a\r\nBcc: all@example.com', 'no control characters'],
    ['nul\u0000byte', 'no control characters'],
    ['escape\u001B[2J', 'no control characters'],
    ['del\u007Fete', 'no control characters'],
    ['c1\u009Bcontrol', 'no control characters'],
    ['half \uD83D here', 'no half of a surrogate pair'],
    ['x'.repeat(257), 'at most 256 characters'],
    ['😀'.repeat(257), 'at most 256 characters'],
    ['', 'at least one character that is not a space'],
    [' \t\n', 'at least one character that is not a space'],
  ])('refused: %j', (id, reason) => {
    expect(faultOf('candidateId', id)).toEqual([
      expect.stringContaining(`candidateId: Expected ${reason}, got `),
    ]);
  });

  test('a fault quotes the value without characters that are invisible or control a terminal', () => {
    const [fault] = faultOf('candidateId', `x\u001B[2J\u009B\u007F\u200B\u{E0041}${'y'.repeat(300)}`);
    expect(fault).not.toMatch(/\p{Cc}|\p{Default_Ignorable_Code_Point}/u);
    expect(fault).toContain('\\u001b[2J\\u009b\\u007f\\u200b\\udb40\\udc41');
    expect(fault?.length).toBeLessThan(150);
  });
});

describe('integers', () => {
  test.each<[Json, number]>([
    [7, 7],
    [0, 0],
    [-3, -3],
    ['7', 7],
    [' 0042 ', 42],
    ['-3', -3],
    [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
    [String(Number.MIN_SAFE_INTEGER), Number.MIN_SAFE_INTEGER],
  ])('%j is taken as %d in both fields', (came, value) => {
    expect(withField('testId', came)).toEqual({ ...sample, testId: value });
    expect(withField('candidateNumericalId', came)).toEqual({ ...sample, candidateNumericalId: value });
  });

  test('minus zero is zero', () => {
    expect(withField('testId', -0)).toMatchObject({ testId: 0 });
    expect(withField('testId', '-0')).toMatchObject({ testId: 0 });
  });

  test.each<Json>([
    1.5,
    '1.5',
    '1e3',
    '0x10',
    '',
    ' ',
    '١٢٣',
    '12a',
    2 ** 53,
    '9007199254740993',
    Number.POSITIVE_INFINITY,
    true,
    [7],
    { id: 7 },
  ])('%j is refused in both fields', (came) => {
    expect(faultOf('testId', came)).toEqual([
      expect.stringContaining('testId: Expected an integer within ±'),
    ]);
    expect(faultOf('candidateNumericalId', came)).toHaveLength(1);
  });
});

describe('status', () => {
  test.each([
    ['Completed', 'Completed'],
    ['completed', 'Completed'],
    ['COMPLETED', 'Completed'],
    ['didnottake', 'DidNotTake'],
    ['CANCELED', 'Canceled'],
  ])('%s is %s', (came, status) => {
    expect(withField('status', came)).toEqual({ ...sample, status });
  });

  test.each<Json>([
    'Cancelled',
    'Complete',
    ' Completed',
    'DidNotTa\u212Ae',
    '',
    'constructor',
    null,
    1,
    ['Completed'],
  ])('%j is refused, and the three are named', (status) => {
    expect(faultOf('status', status)).toEqual([
      `status: Expected one of Completed, DidNotTake, Canceled, got ${JSON.stringify(status)}.`,
    ]);
  });
});

describe('faults', () => {
  test('every one is named at once', () => {
    expect(eventOf({ candidateId: 7, candidateNumericalId: 'x', status: 'Started' })).toEqual([
      { field: 'candidateId', detail: 'Expected a string, got 7.' },
      {
        field: 'candidateNumericalId',
        detail: 'Expected an integer within ±9007199254740991, got "x".',
      },
      { field: 'testId', detail: 'Expected an integer within ±9007199254740991, got nothing.' },
      { field: 'status', detail: 'Expected one of Completed, DidNotTake, Canceled, got "Started".' },
    ]);
  });

  test.each<Json>([null, true, 7, 'text', [], [sample]])('%j is no object', (body) => {
    expect(eventOf(body)).toEqual([
      { field: 'body', detail: expect.stringContaining('Expected a JSON object') },
    ]);
  });

  test('inherited keys are not fields', () => {
    expect(
      eventOf(JSON.parse('{"__proto__":{"candidateId":"x","testId":1,"status":"Completed"}}') as Json),
    ).toHaveLength(3);
  });
});

test('any JSON is an event within the promised bounds or is refused with a reason', () => {
  const field = fc.oneof(
    fc.jsonValue(),
    fc.string({ unit: anyCharacter }),
    fc.uuid(),
    fc.integer().map(String),
  );
  const body = fc.record({ candidateId: field, candidateNumericalId: field, testId: field, status: field });
  fc.assert(
    fc.property(fc.oneof(body, fc.jsonValue()), (json) => {
      expect(parseCandidateEvent(json as Json)).toSatisfy(isWithinBounds);
    }),
  );
});

function isWithinBounds(parsed: ParsedEvent): boolean {
  if ('faults' in parsed) return parsed.faults.length > 0;
  const { candidateId, testId, candidateNumericalId } = parsed.event;
  return (
    /^[^\p{Cc}]{1,256}$/u.test(candidateId) &&
    candidateId.trim() === candidateId &&
    Number.isSafeInteger(testId) &&
    (candidateNumericalId === null || Number.isSafeInteger(candidateNumericalId))
  );
}

test('an event, normalized, is normal: reading it again changes nothing', () => {
  const spelled = fc.oneof(
    fc.uuid(),
    fc.uuid().map((id) => `{${id.toUpperCase()}}`),
    fc.string(),
  );
  fc.assert(
    fc.property(spelled, fc.maxSafeInteger(), (candidateId, testId) => {
      const first = parseCandidateEvent({ candidateId, testId: String(testId), status: 'COMPLETED' });
      if ('faults' in first) return;
      const again = parseCandidateEvent({ ...first.event });
      expect(again).toMatchObject({ event: first.event });
    }),
  );
});
