import { stringify } from 'yaml';
import type { Config } from '../../config/config.ts';
import { factsWritten } from '../../config/lookups/given.ts';
import { explained, type ExplainedDelivery } from '../../deliveries/explained.ts';
import { type Status, statuses } from '../../model.ts';
import { factNames } from '../../rules/fields.ts';
import { html, type Html } from '../../support/html.ts';
import { printable, printableLines } from '../../support/text.ts';
import { badNotice, ruleName, testsOf, toolOf } from '../frame/fragments.ts';
import { preview } from '../frame/previews.ts';
import type { PageRequest, Parts } from '../page.ts';
import type { ReadableConfig } from './config-shown.ts';
import { ruleLink } from './matrix.ts';

/** The form with which people make up an event, and what the rules make of it. */

export function eventForm({ query }: PageRequest, parts: Parts): Html {
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

/** An example of what the form takes as facts, such as `candidate.score=…`. */
const exampleOf = ({ plan }: Config): string => `${factNames(plan.lookups)[0]}=…`;

export function eventResult(asked: PageRequest, parts: Parts, text: ReadableConfig): Html {
  const { status, test = '', candidate, at, facts = '' } = asked.query;
  const known = statuses.find((one) => one === status);
  const testId = /^-?\d+$/.test(test) ? Number(test) : Number.NaN;
  const now = at === undefined ? asked.now : timeOf(at, asked.times.timeZone);
  if (known === undefined || !Number.isSafeInteger(testId) || now === null)
    return badNotice('An event has one of the statuses, a whole number as test id, and perhaps a time.');
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
  if ('fault' in given) return badNotice(printable(given.fault));
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

/** The time (ms) in a `datetime-local` field, in the page's time zone; null if it is none. */
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
        >${[toolOf(sink, connector), ruleName(rule)].filter(Boolean).join(', ')},
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
        : badNotice(printable(problem))
    }
  </div>`;
}
