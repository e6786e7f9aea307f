import type { Trial } from '../../backtest/trials.ts';
import { hiddenMark } from '../../config/secrets/editable.ts';
import { html, type Html } from '../../support/html.ts';
import { count, printable, printableLines } from '../../support/text.ts';
import { backtestShown } from '../frame/backtests.ts';
import { badNotice, chip } from '../frame/fragments.ts';
import { csrfField, type PageRequest, type Parts } from '../page.ts';
import type { ReadableConfig } from './config-shown.ts';

/** The editor, in which people try a config: they see what `check` and `backtest` say of it. */

/** A config that was tried, and what came of it. */
export interface Tried {
  readonly text: string;
  readonly shown: Html;
  readonly status: number;
}

/** In characters. A longer config is put into the editor after a click only: the page would have it twice. */
const mostTwice = 20_000;

const isLong = ({ editable }: ReadableConfig): boolean => (editable?.text.length ?? 0) > mostTwice;

/** Whether the config in force is shown in the editor alone. */
export const isOnlyEdited = ({ person, query }: PageRequest, config: ReadableConfig): boolean =>
  person.role !== 'viewer' && query['edit'] !== undefined && isLong(config);

export function editor(asked: PageRequest, config: ReadableConfig, tried: Tried | null): Html {
  const { editable } = config;
  const begun = isLong(config) && !isOnlyEdited(asked, config) ? null : editable;
  const text = tried?.text ?? begun?.text ?? '';
  return html`<section class="card" id="edit">
    <h2>Try a config <small>Nothing is changed</small></h2>
    <form method="post" action="/rules/try#tried" data-check="/rules/check">
      ${csrfField(asked)}
      <label for="config">A whole config</label>
      <p class="hint" id="config-hint">
        ${begun || tried ? html`It begins with the one in force.` : html`Paste it here.`} What it refers to,
        such as \${BOT_TOKEN}, stays as it is written. It is held against the events of the last 30 days, too.
        ${
          text.includes(hiddenMark) &&
          html`<code>${hiddenMark}</code> stands for a secret that the config in force has there: leave it so,
            and take only your changes over into the file.`
        }
        ${!begun && editable && html`<a href="/rules?edit=force#edit">Begin with the config in force</a>`}
      </p>
      <p class="notice wait lost" hidden>
        This is the text that was sent last from this tab, without a result.
        <a href="/rules?edit=force">Begin with the config in force</a>
      </p>
      <div class="editor">
        <textarea
          id="config"
          name="config"
          aria-describedby="config-hint"
          spellcheck="false"
          autocapitalize="off"
          autocomplete="off"
          required
        >
${text}</textarea>
      </div>
      <p class="hidden" role="status"></p>
      <div class="actions">
        <button>Check it</button>
        ${tried && begun && html`<a class="button quiet" href="/rules?edit=force#edit">Begin again</a>`}
      </div>
    </form>
    <div class="result" id="tried">${tried?.shown ?? html`<div id="checked"></div>`}</div>
  </section>`;
}

export function trialShown(trial: Trial, parts: Parts): Html {
  const { backtest } = trial;
  return html`${checkShown(trial)}
  ${
    backtest !== null &&
    html`<h3>With the events of the last 30 days, the newest 1000 at most</h3>
      <p class="notice wait older" hidden>This is of the text before your changes.</p>
      ${backtestShown(backtest, parts)}`
  }`;
}

const mostProblems = 100;

/** The result of a check. The page's script replaces the one before with it. */
export function checkShown({ problems, summary, left }: Trial): Html {
  const errors = problems.filter(({ severity }) => severity === 'error').length;
  return html`<div id="checked">
    ${
      summary === null
        ? badNotice(`${count(errors, 'error')}: this config would be refused.`)
        : html`<p class="notice good">${printable(summary)}</p>`
    }
    <ul class="plain problems">
      ${problems.slice(0, mostProblems).map(
        ({ severity, line, column, message, excerpt }) =>
          html`<li>
            <p class="break">
              ${chip(severity === 'error' ? 'bad' : 'wait', severity)}
              <a href="#config" data-line="${line}" data-column="${column}" data-severity="${severity}"
                >line ${line}, column ${column}</a
              >: ${printable(message)}
            </p>
            ${excerpt !== '' && html`<pre tabindex="0">${printableLines(excerpt)}</pre>`}
          </li>`,
      )}
    </ul>
    ${problems.length > mostProblems && html`<p>${count(problems.length - mostProblems, 'more problem')}.</p>`}
    ${left.map((sentence) => html`<p class="muted">${printable(sentence)}</p>`)}
  </div>`;
}
