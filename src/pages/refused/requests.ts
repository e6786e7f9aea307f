import { reconcileCommand } from '../../ops/refusals.ts';
import type { KeptRequest } from '../../store/store.ts';
import { html, type Html, pathWith } from '../../support/html.ts';
import { printable, printableLines } from '../../support/text.ts';
import { candidateName, commandLine } from '../frame/fragments.ts';
import type { Times } from '../frame/times.ts';
import { namedIn } from '../../ops/not-taken-in.ts';
import type { Page } from '../page.ts';

const pageSize = 25;

export const rejectedPage: Page = {
  path: '/rejected',
  async show({ query, times }, { reads }) {
    const { after = '' } = query;
    const last = /^\d{1,15}$/.test(after) ? Number(after) : undefined;
    const found = await reads.rejectedRequests({
      limit: pageSize + 1,
      ...(last !== undefined && { after: last }),
    });
    const requests = found.slice(0, pageSize);
    return {
      title: 'Requests that were not valid events',
      body:
        requests.length === 0
          ? html`<section class="card empty">
              <h2>There are none${last !== undefined && ' among these'}</h2>
              <p>What comes and is refused for its content is kept here, with what was wrong.</p>
            </section>`
          : html`<section class="card" aria-label="Requests">
              <p class="muted">
                No message went out about these. The testing service sends a correlation id with each event.
                If one is from it, what it sends has changed, or something on the way changes it; if somebody
                else sent it, nothing has to be done.
              </p>
              <p class="muted">
                Look in the service for what the candidate did, and show this page to whoever runs the
                connector. Once that is put right, ${commandLine(reconcileCommand())} lists from an export of
                the service what never arrived, and the same with ${commandLine('--accept')} takes it in.
              </p>
              <ul class="plain spaced">
                ${requests.map((one) => item(one, times))}
              </ul>
              ${
                found.length > pageSize &&
                html`<p class="actions">
                  <a
                    class="button quiet"
                    rel="next"
                    href="${pathWith('/rejected', { after: requests.at(-1)?.seq })}"
                    >Older requests</a
                  >
                </p>`
              }
            </section>`,
    };
  },
};

function item(one: KeptRequest, times: Times): Html {
  const { receivedAt, status, address, correlationId, faults, body } = one;
  const named = namedIn(one);
  const about = named.candidateId !== '' || named.candidateNumericalId !== null;
  return html`<li>
    <p class="break">
      <b>${times.short(receivedAt)}</b>
      <span class="muted"
        >${about && html`candidate ${candidateName(named)}, `}answered ${status}, from
        ${printable(address)}${correlationId !== null && html`, correlation id ${printable(correlationId)}`}</span
      >
      ${faults.map((fault) => html`<br />${printable(fault)}`)}
    </p>
    <details class="small">
      <summary>The body as it came</summary>
      <pre tabindex="0">${printableLines(body)}</pre>
    </details>
  </li>`;
}
