import type { BacktestReport, DifferenceGroup, Example, ExampleDifference } from '../../backtest/backtest.ts';
import type { MessageContent } from '../../backtest/differences.ts';
import { digestKey } from '../../backtest/digests.ts';
import { html, type Html } from '../../support/html.ts';
import { count, printable, printableLines, zoned } from '../../support/text.ts';
import { inLocale } from '../../templates/people.ts';
import { english } from '../../words/wording.ts';
import type { Parts } from '../page.ts';
import { styles } from './assets.ts';
import { candidateName, chip, ruleName, statusNames } from './fragments.ts';
import { preview } from './previews.ts';

/** What another config would have delivered, with each message as it looks in its tool, before and after. */

const mostGroups = 30;
const mostNotes = 20;
/** In characters: the pages of hundreds of long messages would be slow. */
const roomForExamples = 90_000;
const longestNote = 500;

type Known = Pick<Parts, 'connectors'>;
type Shown = Known & Pick<BacktestReport, 'timeZone'>;

export function backtestShown(report: BacktestReport, parts: Known): Html {
  const { differing, headline, sentences, groups, notes, timeZone } = report;
  const examples = examplesThatFit(report.examples, { ...parts, timeZone });
  const moreGroups = groups.length - mostGroups;
  const moreEvents = differing - examples.length;
  return html`<p><b>${headline}</b></p>
    ${list(sentences, sentences.length, 'sentence')}
    ${
      groups.length > 0 &&
      html`<details>
        <summary>By rule</summary>
        <ul>
          ${groups.slice(0, mostGroups).map((group) => html`<li class="break">${groupText(group)}</li>`)}
          ${moreGroups > 0 && html`<li>and ${count(moreGroups, 'more kind')} of difference</li>`}
        </ul>
      </details>`
    }
    ${examples}
    ${differing > 0 && moreEvents > 0 && html`<p>${count(moreEvents, 'more event')} would be delivered differently, in the ways that “By rule” counts.</p>`}
    ${notes.length > 0 && html`<div class="notice wait">${list(notes, mostNotes, 'note')}</div>`}`;
}

function list(texts: readonly string[], most: number, what: string): Html | false {
  const more = texts.length - most;
  return (
    texts.length > 0 &&
    html`<ul>
      ${texts.slice(0, most).map((text) => html`<li class="break">${printable(shortened(text))}</li>`)}
      ${more > 0 && html`<li>and ${count(more, `more ${what}`)}</li>`}
    </ul>`
  );
}

const shortened = (text: string): string =>
  text.length > longestNote ? `${text.slice(0, longestNote)}…` : text;

const groupText = ({ kind, sink, rule, keys, count: many }: DifferenceGroup): string =>
  printable(
    shortened(`${many} × ${kind}: ${sink} (rule ${rule})${keys.length > 0 ? `: ${keys.join(', ')}` : ''}`),
  );

/** As many examples as there is room for. One that does not fit is left out, and the next one tried. */
function examplesThatFit(examples: readonly Example[], parts: Shown): Html[] {
  let left = roomForExamples;
  return examples.flatMap((one) => {
    const shown = example(one, parts);
    if (shown.text.length > left) return [];
    left -= shown.text.length;
    return [shown];
  });
}

const example = ({ event, found }: Example, parts: Shown): Html =>
  html`<article class="example">
    <h3 class="break">
      Candidate ${candidateName(event)}: ${statusNames[event.status]},
      ${printable(event.testName ?? `Test ${event.testId}`)}
      <span class="muted small">${clock(event.receivedAt, parts)}, ${event.id}</span>
    </h3>
    ${found.map((one) => difference(one, parts))}
  </article>`;

const tones = { removed: 'bad', added: 'good', changed: 'wait' } as const;

function difference(one: ExampleDifference, parts: Shown): Html {
  const { kind, sink, rule, before, after, edits, unread } = one;
  const isMoved = edits.some(({ key }) => key === 'dueAt');
  const isRegrouped = edits.some(({ key }) => key === digestKey);
  return html`<div class="would">
    <p class="break">
      ${chip(tones[kind], kind)} <b>${sink}</b>
      <span class="muted">${ruleName(rule)}</span>
    </p>
    ${unread.length > 0 && html`<p class="muted">It reads the same; other is ${printable(unread.join(', '))}.</p>`}
    ${isRegrouped && html`<p class="muted">It comes in another digest than before.</p>`}
    <div class="sides">
      ${side('Before', before, one, isMoved, parts)} ${side('After', after, one, isMoved, parts)}
    </div>
  </div>`;
}

function side(
  name: string,
  said: MessageContent | null,
  { connector }: ExampleDifference,
  isMoved: boolean,
  parts: Shown,
): Html {
  const shown = (message: MessageContent) =>
    message.fault === null
      ? preview({ id: '', connector, message: message.fields, receipt: null }, parts, null)
      : html`<p class="notice bad">It cannot be made: ${printableLines(message.fault)}</p>`;
  return html`<div>
    <h4>${name}${said && isMoved && html` <span class="muted">due ${clock(said.dueAt, parts)}</span>`}</h4>
    ${said ? shown(said) : html`<p class="muted">Nothing</p>`}
  </div>`;
}

const clock = (time: number, { timeZone }: Shown): string => inLocale(zoned(time, timeZone), english.locale);

/** The beginning of such a file. A file that begins otherwise is not overwritten. */
export const backtestMark = '<!doctype html><!-- candidate-connector backtest -->';

/** The same as a file, for a review. It loads nothing and runs no script. `names`: what was compared. */
export const backtestFile = (report: BacktestReport, names: string, parts: Known): string =>
  [
    backtestMark,
    html`<html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'" />
        <title>Backtest</title>
        <!--style-->
      </head>
      <body>
        <main>
          <h1>What would be delivered differently</h1>
          <p class="muted break">
            ${printable(names)}. The examples are real events, with what they say of candidates.
          </p>
          <section class="card">
            <h2>The stored events, decided again</h2>
            ${backtestShown(report, parts)}
          </section>
        </main>
      </body>
    </html>`.text.replace('<!--style-->', () => `<style>${styles()}</style>`),
    '',
  ].join('\n');
