import { describe, expect, test } from 'vitest';
import { email } from '../../connectors/email/index.ts';
import { googleSheets } from '../../connectors/google-sheets/index.ts';
import { slack } from '../../connectors/slack/index.ts';
import { compose } from '../../connectors/webhook/message.ts';
import type { AnyConnector, Subject } from '../../src/connector.ts';
import { type Facts, type JsonMap, noFacts, type Status, toldFacts } from '../../src/model.ts';
import { digestData, eventData, plainSetting, templateData } from '../../src/templates/data.ts';
import { compileFields } from '../../src/templates/template.ts';
import { eventWith } from '../fixtures/event.ts';
import { factsOf, lookups } from '../rules/tools.ts';

const entry = { id: 7, name: 'Backend Engineer' };
const links = () => ({ candidate: 'https://tests.example.com/c/1' });
const eventOf = (status: Status) => eventWith({ status, testId: 7, candidateNumericalId: 4711 });
const ana = factsOf({
  name: 'Ana <Kovač>',
  score: 87.5,
  report: 'https://tests.example.com/r?a=1&b=2',
  email: 'ana@example.com',
});

/** What an action that says nothing itself says of one event, or of a digest of several, by these facts. */
function said(
  connector: AnyConnector,
  all: readonly Facts[],
  about: Subject['kind'],
  status: Status = 'Completed',
  action: JsonMap = {},
) {
  const known = lookups.get('candidate')?.fields;
  const fields = Object.assign({}, ...connector.defaultFields!(about, true, known, action)) as JsonMap;
  const words = { test: new Set(['name']), facts: lookups, setting: { ...plainSetting, links } };
  const subject = about === 'digest' ? ({ digestOf: 100, placeKeys: new Set<string>() } as const) : 'event';
  const compiled = compileFields(fields, connector.templates, { ...words, subject });
  expect(compiled.faults).toEqual([]);
  const events = all.map((facts) => ({ event: eventOf(status), facts }));
  const data =
    about === 'digest'
      ? digestData(events, () => entry, 'rule', 0)
      : templateData(eventOf(status), entry, all[0]!, 'rule', 0);
  const rendered = compiled.fields?.render(data) ?? { fault: 'faults' };
  if ('fault' in rendered) throw new Error(rendered.fault);
  return rendered.fields;
}

const blocksOf = (...given: Parameters<typeof said>) => JSON.stringify(said(...given)['blocks']);

describe('what a message says of facts where its action says nothing', () => {
  test.each<[Status, string]>([
    ['Completed', 'Ana <Kovač> completed Backend Engineer: 87.5%'],
    ['DidNotTake', 'Ana <Kovač> did not take Backend Engineer'],
    ['Canceled', 'Ana <Kovač>: Backend Engineer, test canceled'],
  ])('%s: the name, the test and the score of a result, in the subject of a mail', (status, subject) => {
    expect(said(email, [ana], 'event', status)['subject']).toBe(subject);
  });

  test.each([email, slack, googleSheets])(
    'a score and a report stand beside no test without a result',
    (tool) => {
      for (const about of ['event', 'digest'] as const)
        for (const style of ['compact', 'full'])
          expect(JSON.stringify(said(tool, [ana, ana], about, 'DidNotTake', { style }))).not.toMatch(
            /87\.5|\/r\?a=/,
          );
    },
  );

  test('a mail has a button to the report, and the address', () => {
    const { html, text } = said(email, [ana], 'event') as { html: string; text: string };
    expect(html).toContain('<a href="https://tests.example.com/r?a=1&amp;b=2"');
    expect(html).toContain('>Open report</a>');
    expect(html).toMatch(/Email<\/td><td[^>]*>ana@example\.com</);
    expect(text).toContain('\nhttps://tests.example.com/r?a=1&b=2\n');
  });

  test('Slack has them in the headline, and the report below', () => {
    expect(said(slack, [ana], 'event')['text']).toBe(
      ':checkered_flag: Ana &lt;Kovač&gt; completed Backend Engineer: 87.5%',
    );
    expect(blocksOf(slack, [ana], 'event')).toContain(
      ':checkered_flag: <https://tests.example.com/c/1|Ana &lt;Kovač&gt;> completed Backend Engineer: 87.5% | <https://tests.example.com/r?a=1&amp;b=2|Open report>"',
    );
    const blocks = blocksOf(slack, [ana], 'event', 'Completed', { style: 'full' });
    expect(blocks).toContain(
      ':checkered_flag: *<https://tests.example.com/c/1|Ana &lt;Kovač&gt;> completed Backend Engineer: 87.5%*\\n',
    );
    expect(blocks).toContain('\\n<https://tests.example.com/r?a=1&amp;b=2|Open report>');
    expect(blocks).toContain('Test id 7 | ana@example.com');
  });

  test('a row has columns of its own for them', () => {
    expect(said(googleSheets, [ana], 'event')).toMatchObject({
      row: {
        Candidate: '4711 <https://tests.example.com/c/1>',
        Name: 'Ana <Kovač>',
        Score: '87.5',
        Email: 'ana@example.com',
      },
      as: { Score: 'number', Report: 'link' },
    });
  });

  test('a digest lists people with their scores: by the name alone where it is known, as a message of their own says it', () => {
    expect(blocksOf(slack, [ana, noFacts], 'digest')).toMatch(
      /: <[^|]+\|Ana &lt;Kovač&gt;> completed the test: 87.5%, [^\\]*\\n.*: Candidate <[^|]+\|4711> completed the test, /,
    );
    const { html, text } = said(email, [ana, noFacts], 'digest') as { html: string; text: string };
    expect(text).toMatch(
      /^- Ana <Kovač> completed the test: 87.5%, .*\n- Candidate 4711 completed the test, /m,
    );
    expect(html).toMatch(
      />(?!Candidate)<a [^>]*>Ana &lt;Kovač&gt;<\/a> completed the test: 87.5%<.*Candidate <a [^>]*>4711<\/a> /s,
    );
  });

  const nothing = { name: null, score: null, report: null, email: null };

  test.each([noFacts, factsOf(nothing), factsOf({ ...nothing, name: '', email: ' ' })])(
    'without them it reads as it does without look-ups',
    (facts) => {
      expect(said(email, [facts], 'event')['subject']).toBe(
        'Backend Engineer: candidate 4711 completed the test',
      );
      const blocks = blocksOf(slack, [facts], 'event', 'Completed', { style: 'full' });
      expect(blocks).toContain(
        '*Test: Backend Engineer*\\nCandidate *<https://tests.example.com/c/1|4711>* completed the test.\\n',
      );
      expect(blocks).toContain('<https://tests.example.com/c/1|Open candidate>');
    },
  );

  test('a webhook has them beside the event', () => {
    const event = eventData(eventOf('Completed'));
    const facts = toldFacts(ana, (_, field) => field !== 'name');
    const composed = compose({}, { deliveryId: 'dlv_1', subject: { kind: 'event', event, facts } });
    expect(composed).toMatchObject({
      message: {
        body: {
          data: {
            candidateNumericalId: 4711,
            facts: {
              candidate: { state: 'answered', at: '1970-01-01T00:00:00.000Z', fields: { score: 87.5 } },
            },
          },
        },
      },
    });
    expect(JSON.stringify(composed)).not.toContain('Ana');
  });
});
