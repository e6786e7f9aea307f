import { html, type Html, safeUrl } from '../../support/html.ts';
import { csrfField, type FormRequest, type PageContent, type PageRequest } from '../page.ts';

/**
 * Forms that ask for confirmation and a note before they change something: in a dialog, or on a page of its own where there
 * are no scripts.
 */

export interface Asking {
  readonly path: string;
  /** Hidden fields: what the change is about. */
  readonly about?: { readonly [name: string]: string | number | readonly string[] | undefined };
  /** Fields of the question, besides the note. */
  readonly fields?: Html;
}

/** A button of such a form. */
export interface Choice {
  readonly action: string;
  readonly button: string;
  /** The question to confirm. `{count}` stands for the number of ticked boxes. */
  readonly question: string;
  /** Added to the button's text for screen readers. */
  readonly label?: string | undefined;
}

interface Look {
  /** Boxes to tick. The buttons are hidden until one is ticked. */
  readonly boxes?: Html;
  readonly isQuiet?: boolean;
}

/** The form with its buttons; the first one is the main one. Empty for a person who may change nothing. */
export function askingForm(
  asking: Asking,
  choices: readonly Choice[],
  asked: PageRequest,
  { boxes, isQuiet = false }: Look = {},
): Html {
  const { path, fields } = asking;
  const buttons = choices.map(
    ({ action, button, question, label }, at) =>
      html`<button
        ${(isQuiet || at > 0) && html`class="quiet"`}
        name="action"
        value="${action}"
        ${label !== undefined && html`aria-label="${button} ${label}"`}
        data-confirm="${question}"
      >
        ${button}
      </button>`,
  );
  return html`${
    asked.person.role === 'full' &&
    html`<form class="asking" method="post" action="${safeUrl(path)}">
      ${csrfField(asked)} ${hidden(asking)} ${boxes}
      <div class="actions">${buttons}</div>
      <template>${dialogFields(fields)}</template>
    </form>`
  }`;
}

export const tickBox = (id: string, name: string): Html =>
  html`<label class="tick"><input type="checkbox" name="id" value="${id}" aria-label="${name}" /></label>`;

/** The page that asks where there are no scripts. `back`: where Cancel leads. */
export function askingPage(
  asking: Asking,
  { action, button, question }: Choice,
  back: string,
  sent: FormRequest,
): PageContent {
  return {
    title: `${button}?`,
    body: html`<form class="card" method="post" action="${safeUrl(asking.path)}">
      <p>${question}</p>
      ${csrfField(sent)} ${hidden(asking)} ${dialogFields(asking.fields, sent.by.note)}
      <input type="hidden" name="confirmed" value="yes" />
      <p class="actions">
        <button name="action" value="${action}">${button}</button>
        <a class="button quiet" href="${safeUrl(back)}">Cancel</a>
      </p>
    </form>`,
  };
}

const hidden = ({ about = {} }: Asking): Html[] =>
  Object.entries(about).flatMap(([name, values]) =>
    [values ?? []].flat().map((value) => html`<input type="hidden" name="${name}" value="${value}" />`),
  );

const dialogFields = (fields: Html | undefined, note: string | null = null): Html =>
  html`${fields}<label>Why (others see it) <input name="note" maxlength="500" value="${note}" /></label>`;

export const notUnderstood: PageContent = {
  status: 400,
  title: 'This form is not understood',
  body: html`<p>Nothing was changed. <a href="/attention">Back to what needs a person</a></p>`,
};
