import { html } from './html.ts';
import type { Shown } from './page.ts';

/** `next`: where to go after it. */
export function loginPage(next: string, isWrong: boolean): Shown {
  return {
    title: 'Log in',
    body: html`<form class="card stack" method="post" action="/login">
      ${isWrong && html`<p class="notice bad" role="alert">This password is wrong.</p>`}
      <input type="hidden" name="next" value="${next}" />
      <label
        >Password
        <input type="password" name="password" autocomplete="current-password" required autofocus />
        <span class="hint">The one of <code>admin.password</code> in the config.</span>
      </label>
      <label
        >Your name <span class="hint">(for the list of who changed what; you may leave it out)</span>
        <input name="name" autocomplete="name" maxlength="60" />
      </label>
      <button>Log in</button>
    </form>`,
  };
}
