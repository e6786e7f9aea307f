import { html, type Html, safeUrl } from '../../support/html.ts';
import { csrfField, type FormRequest, type PageContent, type PageRequest } from '../page.ts';

/**
 * Forms that ask before they change something, and for a note: in a dialog, or where there are no scripts, by a page of its
 * own.
 */

export interface Asking {
  readonly path: string;
  /** What it is about: what the form sends besides. */
  readonly about?: { readonly [name: string]: string | number | readonly string[] | undefined };
  /** What is asked for besides the note. */
  readonly fields?: Html;
}

/** What one of its buttons does. */
export interface Choice {
  readonly action: string;
  readonly button: string;
  /** `{count}` in it is how many boxes are ticked. */
  readonly question: string;
  /** What the button says besides for those who only hear it. */
  readonly label?: string | undefined;
}

/** How it looks. */
interface Look {
  /** Boxes to tick; the buttons come with the first tick. */
  readonly boxes?: Html;
  readonly isQuiet?: boolean;
}

/** The first choice is the one to be expected. Nothing for who may only look. */
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

/** `back`: where Cancel leads. */
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
