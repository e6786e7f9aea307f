import { html } from '../support/html.ts';
import type { PageContent } from './page.ts';

const refusals = {
  wrong: 'This password is wrong.',
  busy: 'There were too many wrong passwords just now. Try again in a moment.',
  undone: 'Your session has ended, so nothing was done. Log in, and do it again.',
};

/** The page with the login. `next`: the path to go to afterwards; `refused`: why the last try failed, or what was sent before it. */
export function loginPage(next: string, refused?: keyof typeof refusals): PageContent {
  return {
    title: 'Log in',
    body: html`<form class="card stack" method="post" action="/login">
      ${refused && html`<p class="notice bad" role="alert">${refusals[refused]}</p>`}
      <label
        >Password
        <input type="password" name="password" autocomplete="current-password" required autofocus />
        <span class="hint"
          >Ask whoever runs it here. It is <code>admin.password</code> of the config, or
          <code>admin.viewer</code> to only look.</span
        >
      </label>
      <label
        >Your name <span class="hint">(for the list of who changed what; you may leave it out)</span>
        <input name="name" autocomplete="name" maxlength="60" />
      </label>
      <button>Log in</button>
      <input type="hidden" name="next" value="${next}" />
    </form>`,
  };
}
