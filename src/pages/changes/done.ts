import type { Change } from '../../store/store.ts';
import { html, type Html } from '../../support/html.ts';
import { count, printable } from '../../support/text.ts';
import type { Times } from '../frame/times.ts';

/** The changes that people made, newest first. `withLinks`: with links to their events. */
export function changeList(changes: readonly Change[], times: Times, withLinks: boolean): Html {
  return html`<ul class="plain spaced">
    ${changes.map(({ at, who, from, action, note, sink, deliveries }) => {
      const [first] = deliveries;
      return html`<li class="break">
        <b>${action}</b>
        ${action !== 'lookup' && deliveries.length > 0 && html`of ${count(deliveries.length, 'message')}`}
        ${sink !== null && html`of <a href="/sinks/${sink}">${printable(sink)}</a>`} by ${printable(who)}
        <span class="muted">${times.exact(at)}, from ${printable(from)}</span>
        ${
          withLinks &&
          first !== undefined &&
          html`<a class="small" href="/events/${eventOf(first)}"
            >${deliveries.length === 1 ? 'Its event' : 'One of their events'}</a
          >`
        }
        ${note !== null && html`<div class="small">“${printable(note)}”</div>`}
      </li>`;
    })}
  </ul>`;
}

const eventOf = (deliveryId: string): string => deliveryId.replace(/^dlv_(.*)_\d+$/, 'evt_$1');
