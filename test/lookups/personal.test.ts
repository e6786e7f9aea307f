import { expect, test } from 'vitest';
import { hidingPersonal } from '../../src/lookups/kept-facts.ts';
import type { Delivery, Json } from '../../src/model.ts';

/** Hides these fields of a look-up, all of which are personal. */
const hiding = (fields: { readonly [field: string]: Json }) =>
  hidingPersonal([
    { progress: { state: 'answered', fields, personal: Object.keys(fields) } } as unknown as Delivery,
  ]);

test.each([
  ['Ana', 'no such person: {"t":"Ana: 87 %"}', 'no such person: {"t":"(personal): 87 %"}'],
  ['Li', 'Dear Li, (Li) Link Ali', 'Dear (personal), ((personal)) Link Ali'],
  ['Žarko', 'no ŽARKO, no ŽARKOV', 'no (personal), no ŽARKOV'],
  ['Ana', 'ANA will', '(personal) will'],
  ['Žan', String.raw`"\u017dan" and &#381;an`, '"(personal)" and (personal)'],
])('a name of few letters is hidden where it stands alone, also in capitals: %s', (name, text, hidden) => {
  expect(hiding({ first: name })(text)).toBe(hidden);
});

test('a name is hidden in any case, with whatever letters', () => {
  const hide = hiding({ name: 'Žarko Đurić' });
  for (const text of ['ŽARKO ĐURIĆ', 'žarko đurić', 'Žarko ĐURIĆ'])
    expect(hide(`no ${text}, İ`)).toBe('no (personal), İ');
});

test('a part of a name is hidden, too: a message may print the first name alone', () => {
  const hide = hiding({ name: 'Ana Marija van Kovač', note: 'what somebody wrote about it at some time' });
  expect(hide('cannot send "Hi Ana!" to KOVAČ, Ana: somebody in van 7')).toBe(
    'cannot send "Hi (personal)!" to (personal), (personal): somebody in van 7',
  );
});

test('a short text that is no name, and a short number, are left as they are', () => {
  const hide = hiding({ age: 42, grade: 'A', level: 'B2', passed: true });
  const text = 'A B2 answered 42: true';
  expect(hide(text)).toBe(text);
  expect(hiding({ phone: 5550100 })('no 5550100')).toBe('no (personal)');
});
