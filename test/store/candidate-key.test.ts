import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { candidateKey } from '../../src/store/rows.ts';

test('a stored key is found again by every later version', () => {
  expect(candidateKey('')).toBe(70_979_946_618_013);
  expect(candidateKey('0123456789abcdef0123456789abcdef')).toBe(82_530_506_559_565);
  expect(candidateKey('Čakovec 𝒜')).toBe(108_605_339_774_666);
});

test('keys fit into 47 bits and hardly ever meet', () => {
  const ids = Array.from({ length: 20_000 }, (_, n) => createHash('md5').update(String(n)).digest('hex'));
  const keys = [...ids, ...ids.map((_, n) => `candidate-${n}`)].map(candidateKey);
  expect(keys.every((key) => Number.isInteger(key) && key >= 0 && key < 2 ** 47)).toBe(true);
  expect(new Set(keys).size).toBe(keys.length);
});
