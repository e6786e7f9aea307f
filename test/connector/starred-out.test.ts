import { expect, test } from 'vitest';
import { starredOut } from '../../src/connector/starred-out.ts';

test.for([
  [['hunter22'], 'user hunter22, hunter22', 'user ***, ***'],
  [['open', 'open-sesame'], 'open-sesame', '***'],
  [['abc', ''], 'abc', 'abc'],
  [['a.c$'], 'a.c$ abc$', '*** abc$'],
] as const)('of %j, %s is shown as %s', ([secrets, text, shown]) => {
  expect(starredOut(secrets)(text)).toBe(shown);
});
