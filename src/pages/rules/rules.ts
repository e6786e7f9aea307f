import type { Trial } from '../../backtest/trials.ts';
import { html, type Html } from '../../support/html.ts';
import { differNotice, refusedConfigNotice } from '../frame/troubles.ts';
import { count, printable } from '../../support/text.ts';
import { badNotice } from '../frame/fragments.ts';
import type { Form, Page, PageContent, PageRequest, Parts } from '../page.ts';
import { readable, type ReadableConfig, routesSoon } from './config-shown.ts';
import { matrix } from './matrix.ts';
import { checkShown, editor, isOnlyEdited, trialShown, type Tried } from './try-config.ts';
import { eventForm, eventResult } from './try-event.ts';

export const rulesPage: Page = {
  path: '/rules',
  menu: 'Rules',
  show: (asked, parts) => rules(asked, parts, null),
};

const largestText = 256 * 1024;
const isTooLarge = {
  status: 413,
  shown: html`<div id="checked">${badNotice('A config to try here may have 256 KB.')}</div>`,
};
const isBusy = {
  status: 503,
  shown: html`<div id="checked">${badNotice('Somebody else is trying a config just now. Try again.')}</div>`,
};

const answered = (trial: Trial | null, shown: (trial: Trial) => Html): Omit<Tried, 'text'> =>
  trial === null ? isBusy : { status: 200, shown: shown(trial) };

/** Tries a config, with the stored events. Changes nothing. */
export const trialForm: Form = {
  path: '/rules/try',
  async carryOut(sent, parts) {
    const text = textOf(sent.form);
    if (text.length > largestText) return rules(sent, parts, { text: '', ...isTooLarge });
    const { editable } = await readable(parts.configText(), parts.config());
    const trial = await parts.trials.try(text, editable, sent.now);
    return rules(sent, parts, { text, ...answered(trial, (one) => trialShown(one, parts)) });
  },
};

/** Checks a config without the events, for the page's script, while somebody writes. */
export const checkForm: Form = {
  path: '/rules/check',
  async carryOut({ form }, { trials }) {
    const text = textOf(form);
    const { status, shown } =
      text.length > largestText ? isTooLarge : answered(await trials.check(text), checkShown);
    return { title: 'Check', status, body: shown, isPart: true };
  },
};

/** Forms end lines as Windows does. */
const textOf = (form: { readonly [name: string]: string | undefined }): string =>
  (form['config'] ?? '').replaceAll('\r\n', '\n');

async function rules(asked: PageRequest, parts: Parts, tried: Tried | null): Promise<PageContent> {
  const config = parts.config();
  const text = await readable(parts.configText(), config);
  // The rest needs no store.
  const status = await asked.status().catch(() => null);
  return {
    title: 'Rules',
    ...(tried && { status: tried.status }),
    body: html`<div class="stack">
      ${status && refusedConfigNotice(status, asked)} ${status && differNotice(status, asked.times)}
      <section class="card">
        <h2>Who hears of what</h2>
        ${matrix(await routesSoon(config), text)}
      </section>
      <section class="card" id="try-event">
        <h2>Try an event <small>Nothing is sent</small></h2>
        ${eventForm(asked, parts)} ${asked.query['status'] !== undefined && eventResult(asked, parts, text)}
      </section>
      ${asked.person.role !== 'viewer' && editor(asked, text, tried)}
      <section class="card">
        <h2>The config in force <small class="break">${printable(config.file)}</small></h2>
        ${inForce(asked, text)}
      </section>
    </div>`,
  };
}

function inForce(asked: PageRequest, text: ReadableConfig): Html {
  if (text.lines === null)
    return html`<p>
      It has ${count(text.lineCount, 'line')}, which is too much for this page. Read it in the file.
    </p>`;
  if (isOnlyEdited(asked, text))
    return html`<p>It stands in the editor above. <a href="/rules">Show it here</a></p>`;
  return html`<pre class="config" tabindex="0">
${text.lines.map((line, at) => html`<span id="L${at + 1}"><i>${at + 1}</i>${printable(line)} </span>`)}</pre>`;
}
