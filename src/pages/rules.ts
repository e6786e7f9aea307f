import { program } from '../support/invocation.ts';
import { stringify } from 'yaml';
import type { Config } from '../config/config.ts';
import { factsWritten } from '../config/lookups/given.ts';
import { explained, type ExplainedDelivery } from '../deliveries/explained.ts';
import { type Status, statuses } from '../model.ts';
import { factNames } from '../rules/fields.ts';
import { count, printable, printableLines } from '../support/text.ts';
import type { Trial } from '../config/live/trials.ts';
import { html, type Html, safeUrl } from '../support/html.ts';
import { type PageRequest, csrfField, type Form, type Page, type Parts, type PageContent } from './page.ts';
import { backtestShown } from './frame/backtests.ts';
import { testsOf } from './frame/fragments.ts';
import { preview } from './frame/previews.ts';
import { readable, type ReadableConfig, type RouteFields, routesSoon } from './config-shown.ts';

export const rulesPage: Page = {
  path: '/rules',
  menu: 'Rules',
  show: (asked, parts) => rules(asked, parts, null),
};

const largestText = 256 * 1024;

/** A config that is pasted to be tried. It changes nothing. */
export const trialForm: Form = {
  path: '/rules/try',
  async carryOut(sent, parts) {
    const text = sent.form['config'] ?? '';
    if (text.length > largestText)
      return rules(sent, parts, {
        text: '',
        shown: notice('A config to try here may have 256 KB.'),
        status: 413,
      });
    const trial = await parts.trials.try(text, sent.now);
    const shown =
      trial === null
        ? notice('Somebody else is trying a config just now. Try again.')
        : trialOf(trial, parts);
    return rules(sent, parts, { text, shown, status: trial === null ? 503 : 200 });
  },
};

interface TrialView {
  readonly text: string;
  readonly shown: Html;
  readonly status: number;
}

async function rules(asked: PageRequest, parts: Parts, tried: TrialView | null): Promise<PageContent> {
  const config = parts.config();
  const text = await readable(parts.configText(), config);
  return {
    title: 'Rules',
    ...(tried && { status: tried.status }),
    body: html`<div class="stack">
      ${
        tried &&
        html`<section class="card" id="result">
          <h2>The pasted config</h2>
          ${tried.shown}
        </section>`
      }
      <section class="card">
        <h2>Who hears of what</h2>
        ${matrix(await routesSoon(config), text, config.file)}
      </section>
      <section class="card" id="try-event">
        <h2>Try an event <small>Nothing is sent</small></h2>
        ${eventForm(asked, parts)} ${asked.query['status'] !== undefined && eventResult(asked, parts, text)}
      </section>
      ${
        asked.person.role !== 'viewer' &&
        html`<section class="card">
          <h2>Try a config <small>Nothing is changed</small></h2>
          <form method="post" action="/rules/try">
            ${csrfField(asked)}
            <label
              >A whole config
              <span class="hint"
                >What it refers to, such as \${BOT_TOKEN}, stays as it is written. It is checked, and held
                against the events of the last 30 days.</span
              >
              <textarea name="config" rows="12" spellcheck="false" autocapitalize="off" required>
${tried?.text ?? ''}</textarea>
            </label>
            <div class="actions"><button>Check it</button></div>
          </form>
        </section>`
      }
      <section class="card">
        <h2>The config in force <small class="break">${printable(config.file)}</small></h2>
        ${
          text.lines === null
            ? html`<p>
                It has ${count(text.lineCount, 'line')}, which is too much for this page. Read it in the file.
              </p>`
            : html`<pre class="config" tabindex="0">
${text.lines.map((line, at) => html`<span id="L${at + 1}"><i>${at + 1}</i>${printable(line)} </span>`)}</pre>`
        }
      </section>
    </div>`,
  };
}

const notice = (text: string): Html => html`<p class="notice bad">${text}</p>`;

/** Its name, with the way to where the config has it. */
function ruleLink(rule: string, { rules: places, lines }: ReadableConfig): Html {
  const line = places.get(rule);
  return line !== undefined && lines !== null
    ? html`<a href="${safeUrl(`/rules#L${line}`)}">${printable(rule)}</a>`
    : html`${printable(rule)}${line !== undefined && ` (line ${line})`}`;
}

const mostRows = 50;
const mostNamed = 6;

/** A row for the tests that are alike, since a catalog may have hundreds. */
function matrix(routes: readonly RouteFields[] | null, text: ReadableConfig, file: string): Html {
  if (routes === null)
    return html`<p class="muted">
      That takes long for so many rules and tests. Load this page again in a moment, or ask
      <code>${program} routes ${printable(file)}</code>
    </p>`;
  const byTest = [...Map.groupBy(routes, ({ testId }) => testId).values()];
  const alike = [
    ...Map.groupBy(byTest, (cells) =>
      JSON.stringify(cells.map(({ testId: _, test: __, ...cell }) => cell)),
    ).values(),
  ];
  const rows = alike.slice(0, mostRows).map((tests) => {
    const names = tests.map((cells) => {
      const { testId, test } = cells[0]!;
      if (testId === null) return 'Any other test';
      return `${typeof test === 'string' ? printable(test) : 'Test'} (${testId})`;
    });
    const more = names.length - mostNamed;
    return html`<tr>
      <th scope="row">
        ${names.slice(0, mostNamed).map((name) => html`<div>${name}</div>`)}
        ${more > 0 && html`<div>and ${count(more, 'more test')}</div>`}
      </th>
      ${tests[0]!.map((cell) => html`<td>${cellOf(cell, text)}</td>`)}
    </tr>`;
  });
  return html`<div class="table" tabindex="0" role="region" aria-label="Who hears of what">
      <table class="routes">
        <thead>
          <tr>
            <th scope="col">Test</th>
            ${statuses.map((status) => html`<th scope="col">${status}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${rows}
        </tbody>
      </table>
    </div>
    ${
      alike.length > mostRows &&
      html`<p class="muted small">
        ${count(alike.length - mostRows, 'more kind')} of tests:
        <code>${program} routes ${printable(file)}</code>
      </p>`
    }`;
}

function cellOf(route: RouteFields, text: ReadableConfig): Html {
  const { heardBy, nobody, otherwiseNobody, nobodyIf, meant, twice } = route;
  const otherwise = nobodyIf === null ? 'otherwise nobody' : `nobody if ${printable(nobodyIf)}`;
  const none = (words: string): Html =>
    meant
      ? html`<p class="muted">${words}, as the config says</p>`
      : html`<p><span class="chip bad">${words}</span></p>`;
  return html`${heardBy.map(
    ({ rule, sink, place, condition, hours, digest }) =>
      html`<p class="break">
        <b>${printable(sink)}</b> ${printable(place)}
        <span class="muted small"
          >rule
          ${ruleLink(rule, text)}${digest && ', digest'}${hours !== null && `, hours ${printable(hours)}`}${
            condition !== null && `, if ${printable(condition)}`
          }</span
        >
      </p>`,
  )}
  ${nobody ? none('nobody') : otherwiseNobody && none(otherwise)}
  ${twice && html`<p><span class="chip wait">twice</span></p>`}`;
}

function eventForm({ query }: PageRequest, parts: Parts): Html {
  const tests = testsOf(parts.config()).slice(0, 200);
  const given = (name: string): string => query[name] ?? '';
  return html`<form method="get" action="/rules#try-event">
    <div class="fields">
      <label
        >Status
        <select name="status">
          ${statuses.map(
            (status) => html`<option ${status === given('status') && html`selected`}>${status}</option>`,
          )}
        </select></label
      >
      <label
        >Test id
        <input
          name="test"
          inputmode="numeric"
          required
          list="tests"
          value="${given('test') || (tests[0]?.[0] ?? '')}"
        />
      </label>
      <label>Candidate id <input name="candidate" maxlength="256" value="${given('candidate')}" /></label>
      ${
        parts.config().plan.lookups.size > 0 &&
        html`<label
          >Facts
          <input name="facts" placeholder="${exampleOf(parts.config())}" value="${given('facts')}" />
        </label>`
      }
      <label>When it comes <input type="datetime-local" name="at" value="${given('at')}" /></label>
      <button>Try it</button>
    </div>
    <datalist id="tests">${tests.map(([id, name]) => html`<option value="${id}">${name}</option>`)}</datalist>
  </form>`;
}

/** A fact, as the form takes it. Several have commas between them. */
const exampleOf = ({ plan }: Config): string => `${factNames(plan.lookups)[0]}=…`;

function eventResult(asked: PageRequest, parts: Parts, text: ReadableConfig): Html {
  const { status, test = '', candidate, at, facts = '' } = asked.query;
  const known = statuses.find((one) => one === status);
  const testId = /^-?\d+$/.test(test) ? Number(test) : Number.NaN;
  const now = at === undefined ? asked.now : timeOf(at, asked.times.timeZone);
  if (known === undefined || !Number.isSafeInteger(testId) || now === null)
    return notice('An event has one of the statuses, a whole number as test id, and perhaps a time.');
  const fields: { status: Status; testId: number; candidateId?: string } = {
    status: known,
    testId,
    ...(candidate !== undefined && { candidateId: candidate.trim().slice(0, 256) || '-' }),
  };
  const config = parts.config();
  const written = facts.split(',').map((one) => one.trim());
  const given = factsWritten(
    written.filter((one) => one !== ''),
    config.plan.lookups,
    now,
  );
  if ('fault' in given) return notice(printable(given.fault));
  const { rules: verdicts, deliveries } = explained(config, fields, now, given.facts);
  return html`<h3>Rules</h3>
    <ul class="plain verdicts">
      ${verdicts.map(
        ({ rule, matched, because }) =>
          html`<li class="break ${!matched && 'muted'}">
            <span aria-hidden="true">${matched ? '✓' : '✗'}</span> <b>${ruleLink(rule, text)}</b>
            ${printable(because)}
          </li>`,
      )}
    </ul>
    <h3>Would be sent</h3>
    ${
      deliveries.length === 0
        ? html`<p class="notice wait">Nothing: nobody hears of this event.</p>`
        : deliveries.map((one) => wouldSend(one, now, asked, parts))
    }`;
}

/** As a browser's field has it, on the clocks of the page. */
function timeOf(text: string, timeZone: string): number | null {
  try {
    return Temporal.PlainDateTime.from(text).toZonedDateTime(timeZone).epochMilliseconds;
  } catch {
    return null;
  }
}

function wouldSend(
  { planned, message, problem }: ExplainedDelivery,
  cameAt: number,
  { times }: PageRequest,
  parts: Parts,
): Html {
  const { sink, connector, rule, dueAt } = planned;
  return html`<div class="would">
    <p>
      <b>${printable(sink)}</b>
      <span class="muted"
        >${connector}, rule ${printable(rule)},
        ${dueAt === cameAt ? 'at once' : html`due ${times.exact(dueAt)}`}</span
      >
    </p>
    ${
      problem === undefined
        ? html`${preview({ id: '', connector, message, receipt: null }, parts, null)}
            <details>
              <summary>As it is sent</summary>
              <pre tabindex="0">${printableLines(stringify(message, { lineWidth: 0 }).trimEnd())}</pre>
            </details>`
        : notice(printable(problem))
    }
  </div>`;
}

const mostProblems = 100;

function trialOf({ problems, summary, left, backtest }: Trial, parts: Parts): Html {
  const errors = problems.filter(({ severity }) => severity === 'error').length;
  return html`${
      summary === null
        ? html`<p class="notice bad">${count(errors, 'error')}: this config would be refused.</p>`
        : html`<p class="notice good">${printable(summary)}</p>`
    }
    <ul class="plain problems">
      ${problems.slice(0, mostProblems).map(
        ({ severity, line, column, message, excerpt }) =>
          html`<li>
            <p class="break">
              <span class="chip ${severity === 'error' ? 'bad' : 'wait'}">${severity}</span>
              ${`line ${line}, column ${column}: ${printable(message)}`}
            </p>
            ${excerpt !== '' && html`<pre tabindex="0">${printableLines(excerpt)}</pre>`}
          </li>`,
      )}
    </ul>
    ${problems.length > mostProblems && html`<p>${count(problems.length - mostProblems, 'more problem')}.</p>`}
    ${left.map((sentence) => html`<p class="muted">${printable(sentence)}</p>`)}
    ${
      backtest !== null &&
      html`<h3>With the events of the last 30 days, the newest 1000 at most</h3>
        ${backtestShown(backtest, parts)}`
    }`;
}
