import { describe, expect, test } from 'vitest';
import { addressList, listHas, networkOf, parseRange } from '../../src/http/addresses.ts';
import { findCaller, trustOf } from '../../src/receiver/caller.ts';

const has = (ranges: string[], address: string) => listHas(addressList(ranges), address);

const judge = (peer: string, forwardedFor: string | undefined, trustProxy: number | string[]) =>
  findCaller(peer, forwardedFor, trustOf(trustProxy));

describe('an address list', () => {
  test.each([
    ['192.0.2.1', '192.0.2.1'],
    ['192.0.2.0/24', '192.0.2.255'],
    ['192.0.2.7/24', '192.0.2.200'],
    ['0.0.0.0/0', '203.0.113.9'],
    ['2001:db8::/32', '2001:db8:ffff::1'],
    ['2001:db8::1', '2001:0DB8:0:0:0:0:0:1'],
    ['192.0.2.1', '::ffff:192.0.2.1'],
    ['192.0.2.0/24', '::ffff:c000:2ff'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.0/120', '192.0.2.200'],
    ['::ffff:c000:201', '::ffff:192.0.2.1'],
  ])('%s has %s', (range, address) => {
    expect(has([range], address)).toBe(true);
    expect(has(['198.51.100.1', range], address)).toBe(true);
  });

  test.each([
    ['192.0.2.1', '192.0.2.10'],
    ['192.0.2.1', '192.0.2.11'],
    ['192.0.2.0/24', '192.0.3.1'],
    ['192.0.2.0/32', '192.0.2.1'],
    ['192.0.2.0/24', '::192.0.2.1'],
    ['::1', '0.0.0.1'],
    ['::ffff:192.0.2.0/120', '192.0.3.1'],
    ['2001:db8::/32', '2001:db9::1'],
    ['0.0.0.0/0', '2001:db8::1'],
  ])('%s has not %s', (range, address) => {
    expect(has([range], address)).toBe(false);
  });

  test('an empty one has nothing', () => {
    expect(has([], '192.0.2.1')).toBe(false);
  });
});

describe('a range', () => {
  test('is an address or a CIDR', () => {
    expect(parseRange('192.0.2.1')).toEqual({ address: '192.0.2.1', prefix: 32 });
    expect(parseRange('192.0.2.0/24')).toEqual({ address: '192.0.2.0', prefix: 24 });
    expect(parseRange('2001:db8::1')).toEqual({ address: '2001:db8::1', prefix: 128 });
    expect(parseRange('::/0')).toEqual({ address: '::', prefix: 0 });
  });

  test.each([
    '',
    'published',
    '192.0.2',
    '192.0.2.1/33',
    '::/129',
    '192.0.2.1/',
    '192.0.2.1/-1',
    '192.0.2.1/8/8',
    'fe80::1%eth0',
    ' 192.0.2.1',
  ])('is not %j, and a list with it is refused', (text) => {
    expect(parseRange(text)).toBeNull();
    expect(() => addressList([text])).toThrow(`not an address or CIDR: ${text}`);
  });
});

describe('the address that is judged', () => {
  test('is the peer itself if no proxy is trusted, whatever it claims', () => {
    expect(judge('203.0.113.9', '4.175.48.171', 0)).toEqual({
      address: '203.0.113.9',
      hops: ['203.0.113.9'],
      untrusted: ['4.175.48.171'],
    });
  });

  test('is as many hops behind as are configured, and no further', () => {
    const chain = '198.51.100.66, 4.175.48.171 , 10.0.0.2';
    expect(judge('10.0.0.1', chain, 1)).toMatchObject({ address: '10.0.0.2' });
    expect(judge('10.0.0.1', chain, 2)).toEqual({
      address: '4.175.48.171',
      hops: ['10.0.0.1', '10.0.0.2', '4.175.48.171'],
      untrusted: ['198.51.100.66'],
    });
    expect(judge('10.0.0.1', chain, 3)).toMatchObject({ address: '198.51.100.66', untrusted: [] });
    expect(judge('10.0.0.1', chain, 9)).toMatchObject({ address: '198.51.100.66' });
  });

  test('is the peer if fewer proxies wrote than are configured', () => {
    expect(judge('10.0.0.1', undefined, 2)).toMatchObject({ address: '10.0.0.1', hops: ['10.0.0.1'] });
  });

  test('is the first that is not a trusted proxy, if their addresses are configured', () => {
    const ours = ['10.0.0.0/8', '2001:db8::/32'];
    expect(judge('::ffff:10.0.0.1', '4.175.48.171, 203.0.113.9, 2001:db8::7', ours)).toMatchObject({
      address: '203.0.113.9',
      untrusted: ['4.175.48.171'],
    });
    expect(judge('203.0.113.9', '4.175.48.171', ours)).toMatchObject({ address: '203.0.113.9' });
    expect(judge('10.0.0.1', '10.0.0.2, 10.0.0.3', ours)).toMatchObject({ address: '10.0.0.2' });
  });

  test('is not taken for a proxy because its text begins like one', () => {
    expect(judge('10.0.0.11', '4.175.48.171', ['10.0.0.1'])).toMatchObject({ address: '10.0.0.11' });
  });

  test.each([
    ['192.0.2.1:4711', '192.0.2.1'],
    ['[2001:db8::1]', '2001:db8::1'],
    ['[2001:db8::1]:4711', '2001:db8::1'],
    ['2001:db8::1', '2001:db8::1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['[::ffff:192.0.2.1]:80', '192.0.2.1'],
    ['fe80::1%eth0', 'fe80::1'],
  ])('is read from %s as %s', (entry, address) => {
    expect(judge('10.0.0.1', entry, 1)).toMatchObject({ address, hops: ['10.0.0.1', entry] });
  });

  test.each([
    'unknown',
    '',
    '_hidden',
    '192.0.2.1.5',
    '192.0.2.1 evil',
    '[192.0.2.1',
    '256.0.0.1',
    '0x7f.1',
    '127.1',
  ])('is none where a trusted proxy wrote %j', (entry) => {
    expect(judge('10.0.0.1', `4.175.48.171, ${entry}`, 2)).toEqual({
      address: null,
      hops: ['10.0.0.1', entry],
      untrusted: ['4.175.48.171'],
    });
  });
});

test.each([
  ['192.0.2.1', '192.0.2.1'],
  ['2001:0DB8:0:12:3:4:5:6', '2001:db8:0:12::/64'],
  ['2001:db8::1', '2001:db8::/64'],
  ['1:2:3:4:5:6:7::', '1:2:3:4::/64'],
  ['::1', '::1'],
  ['64:ff9b::192.0.2.1', '64:ff9b::/64'],
])('%s is counted as %s, which a list of addresses takes', (address, network) => {
  expect(networkOf(address)).toBe(network);
  expect(has([network], address)).toBe(true);
});
