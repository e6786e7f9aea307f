import { expect, test } from 'vitest';
import { closest, didYouMeanOneOf, orList } from '../../src/support/text.ts';

const words = ['slack', 'sheet', 'mail', 'concurrency', 'maxBody', 'Europe/Zagreb', 'to'];

test.each([
  ['slak', 'slack'],
  ['slcak', 'slack'],
  ['Slack', 'slack'],
  ['maxbody', 'maxBody'],
  ['max_body', 'maxBody'],
  ['concurency', 'concurrency'],
  ['zagreb', 'Europe/Zagreb'],
  ['sink.maxbody', 'maxBody'],
  ['too', 'to'],
])('%s was meant to be %s', (word, meant) => {
  expect(closest(word, words)).toBe(meant);
});

test.each(['pager', 'x', 'tz', '', 'webhook', 'agreb'])('nothing is near to %j', (word) => {
  expect(closest(word, words)).toBeNull();
});

test('where nothing is near, the choice is shown', () => {
  expect(didYouMeanOneOf('pager', words.slice(0, 3), 'none')).toBe('; expected slack, sheet or mail');
  expect(didYouMeanOneOf('pager', [], 'there are none')).toBe('; there are none');
});

test('a list of one needs no "or"', () => {
  expect(orList(['a'])).toBe('a');
  expect(orList([])).toBe('');
});
