import type { ChangeKind } from '../../model.ts';
import type { Change } from '../../store/store.ts';
import { html, type Html } from '../../support/html.ts';
import { count, printable } from '../../support/text.ts';
import type { Times } from '../frame/times.ts';

/** What is done to messages. All else is done to events, whose first deliveries may be look-ups. */
const ofMessages: ReadonlySet<ChangeKind> = new Set(['replay', 'discard', 'resend', 'apply']);

/** The changes that people made, newest first. `withLinks`: with links to their events. */
export function changeList(changes: readonly Change[], times: Times, withLinks: boolean): Html {
  return html`<ul class="plain spaced">
    ${changes.map(({ at, who, from, action, note, sink, deliveries }) => {
      const events = new Set(deliveries.map(eventOf));
      const [first] = events;
      return html`<li class="break">
        <b>${action}</b>
        ${
          events.size > 0 &&
          `of ${ofMessages.has(action) ? count(deliveries.length, 'message') : count(events.size, 'event')}`
        }
        ${sink !== null && html`of <a href="/sinks/${sink}">${printable(sink)}</a>`} by ${printable(who)}
        <span class="muted">${times.exact(at)}, from ${printable(from)}</span>
        ${
          withLinks &&
          first !== undefined &&
          html`<a class="small" href="/events/${first}"
            >${events.size === 1 ? 'Its event' : 'One of their events'}</a
          >`
        }
        ${note !== null && html`<div class="small">“${printable(note)}”</div>`}
      </li>`;
    })}
  </ul>`;
}

const eventOf = (deliveryId: string): string => deliveryId.replace(/^dlv_(.*)_\d+$/, 'evt_$1');
