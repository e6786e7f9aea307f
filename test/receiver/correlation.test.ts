import { describe, expect, test } from 'vitest';
import { correlationOf } from '../../src/receiver/caller.ts';

const idFrom = (headers: Record<string, string>, setting = 'auto') => correlationOf(headers, setting).id;

describe('with auto', () => {
  test.each([
    'x-service-correlationid',
    'x-acme-corp-correlationid',
    'x-acme-correlation-id',
    'x-correlation-id',
    'x-correlationid',
  ])('%s is taken', (name) => {
    expect(idFrom({ host: 'localhost', [name]: 'c-1' })).toBe('c-1');
  });

  test('one with a brand is taken before a general one, in whatever order they come', () => {
    expect(idFrom({ 'x-correlation-id': 'general', 'x-acme-correlationid': 'brand' })).toBe('brand');
    expect(idFrom({ 'x-acme-correlationid': 'brand', 'x-correlation-id': 'general' })).toBe('brand');
  });

  test.each(['correlationid', 'x-acme-correlationid-old', 'x-acme-id', 'acme-correlationid', 'x-request-id'])(
    '%s is not',
    (name) => {
      expect(correlationOf({ [name]: 'c-1' }, 'auto')).toEqual({ id: null, unusable: null });
    },
  );
});

test('a name that every object has is no header', () => {
  expect(correlationOf({}, 'constructor')).toEqual({ id: null, unusable: null });
});

test('with a name, only that header is taken', () => {
  const headers = { 'x-acme-correlationid': 'brand', 'x-trace': 'c-2' };
  expect(idFrom(headers, 'x-trace')).toBe('c-2');
  expect(idFrom({ 'x-acme-correlationid': 'brand' }, 'x-trace')).toBeNull();
});

describe('a value', () => {
  test('may be up to 200 printable ASCII characters', () => {
    expect(idFrom({ 'x-a-correlationid': 'x'.repeat(200) })).toHaveLength(200);
    expect(idFrom({ 'x-a-correlationid': '{5F0C7A52-9A53-4A5F-8A3B-0A6C1F0F2F10} #1' })).not.toBeNull();
  });

  test.each(['x'.repeat(201), 'tab\there', 'gr\u00FC\u00DFe', 'c1\u009B', 'nul\u0000'])(
    'is not used, with a reason, when it is %j',
    (value) => {
      expect(correlationOf({ 'x-a-correlationid': value }, 'auto')).toEqual({
        id: null,
        unusable: expect.stringContaining('x-a-correlationid'),
      });
    },
  );

  test('that is empty counts as none', () => {
    expect(correlationOf({ 'x-a-correlationid': '' }, 'auto')).toEqual({ id: null, unusable: null });
  });
});
