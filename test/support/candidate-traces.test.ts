import { describe, expect, test } from 'vitest';
import { meansCandidate } from '../../src/store/operations/searching.ts';
import { mentionsOf } from '../../src/support/candidate-traces.ts';
import { type LanguageCode, languages } from '../../src/words/wording.ts';

const names = ['candidateCompleted', 'candidateCanceled', 'shortDidNotTake', 'ids'] as const;

describe.each(Object.keys(languages) as LanguageCode[])('what messages in %s say of a candidate', (code) => {
  const texts = names.map((name) =>
    languages[code][name].replace('{candidate}', '20970').replace('{test}', '7').replace('{status}', 'x'),
  );

  test.each(texts)('is without the number once it is erased: %s', (text) => {
    const { without } = mentionsOf('b'.repeat(32), [20970]);
    expect(without(text)).toBe(text.replace('20970', '(erased)'));
    expect(without(JSON.stringify({ text }))).toBe(JSON.stringify({ text }).replace('20970', '(erased)'));
    expect(without(text.replace('20970', '209701'))).toBe(text.replace('20970', '209701'));
  });

  test('is found by it', () => {
    const candidate = { candidateId: 'a'.repeat(32), candidateNumericalId: 20970 };
    const [shown = ''] = /^.*20970/.exec(texts[0]!) ?? [];
    expect(meansCandidate(shown, candidate)).toBe(true);
  });
});

test.each(['en', 'de', 'fr', 'es', 'hr', 'pl', 'de-CH'])(
  'a number is erased as the filter `number` writes it, too: %s',
  (locale) => {
    const number = 4_711_001;
    const { without, hints } = mentionsOf('b'.repeat(32), [number]);
    const grouped = new Intl.NumberFormat(locale).format(number);
    expect(without(`no candidate ${grouped}, nor ${grouped}5`)).toBe(
      `no candidate (erased), nor ${grouped}5`,
    );
    expect(without(`no candidate ${grouped}5`)).toBe(`no candidate ${grouped}5`);
    // As `like` reads them.
    const found = hints.filter((hint) => new RegExp(hint.replaceAll('%', '.*')).test(grouped));
    expect(found).toEqual(['4%711%001']);
  },
);

test.each([
  'candidat 20\\u202f970',
  'candidat 20\\\\u202F970',
  'candidat 20&nbsp;970',
  'candidat 20&#8239;970',
  'candidat 20&#x202f;970',
  'candidate%2020%2C970',
  'candidat+20%E2%80%AF970',
  'candidate 20&rsquo;970',
])('a number in groups is erased where a tool escapes the sign between them: %s', (text) => {
  const { without, hints } = mentionsOf('b'.repeat(32), [20970]);
  expect(without(text)).not.toMatch(/970/);
  expect(without(text)).toMatch(/^candidat.*\(erased\)$/);
  expect(hints.some((hint) => new RegExp(hint.replaceAll('%', '.*')).test(text))).toBe(true);
});

test.each([
  '"candidateNumericalId" : 20970',
  '\\"candidateNumericalId\\":\\"20970\\"',
  'candidate_numerical_id=20970',
  'candidate numerical id: 20970',
  '&quot;candidateNumericalId&quot;:&#32;20970',
  'candidateNumericalId%22%3A%2020970',
  'candidate\\u0020\\u002320970',
  '*Candidate*\\n20970',
  'Candidate:\\\\t20970',
])('a number is erased after the name of its field, however a tool quotes it: %s', (text) => {
  const { without } = mentionsOf('b'.repeat(32), [20970]);
  expect(without(text)).toBe(text.replace('20970', '(erased)'));
});

test('an id is looked for in files as JSON, URLs and HTML write it, too', () => {
  expect(mentionsOf('a"b&c').spellings).toEqual(['a"b&c', 'a\\"b&c', 'a%22b%26c', 'a&quot;b&amp;c']);
});

test('a text that a caller made long takes no longer than it should', () => {
  const { without } = mentionsOf('b'.repeat(32), [20970]);
  const long = 'candida'.repeat(20_000);
  const startedAt = performance.now();
  expect(without(long)).toBe(long);
  expect(performance.now() - startedAt).toBeLessThan(2000);
});
