import type { Preview } from '../../connector.ts';
import { isMap, type Json } from '../../model.ts';
import type { Receipt } from '../../model/outcomes.ts';
import { html, type Html } from '../../support/html.ts';
import { printable, printableLines } from '../../support/text.ts';
import type { Parts } from '../page.ts';

interface StoredMessage {
  readonly id: string;
  readonly connector: string;
  readonly message: Json;
  readonly receipt: Receipt | null;
}

/** A preview of a message by its connector; as JSON where that connector is gone. */
export function previewOf(
  { connector, message, receipt }: StoredMessage,
  { connectors }: Pick<Parts, 'connectors'>,
): Preview {
  const known = isMap(message) && connectors.get(connector)?.describe?.preview(message, receipt);
  const data = () => html`<pre tabindex="0">${printableLines(JSON.stringify(message, null, 2))}</pre>`;
  return known || { where: connector, body: data() };
}

/** A message as it looks in the tool. `eventId` null: the message is made up, so it has no page of its own to frame. */
export function preview(
  shown: StoredMessage,
  parts: Pick<Parts, 'connectors'>,
  eventId: string | null,
): Html {
  const { where, title, attached, folded, body, document } = previewOf(shown, parts);
  if (folded !== undefined && eventId !== null)
    return html`<details class="preview">
      <summary class="where">${printable(where)}, ${printable(folded)}</summary>
      ${body}
    </details>`;
  return html`<div class="preview">
    <div class="where">${printable(where)}</div>
    ${title !== undefined && html`<div class="subject">${printable(title)}</div>`}
    ${attached !== undefined && html`<div class="where">Attached: ${printable(attached)}</div>`}
    ${
      document && eventId !== null
        ? html`<iframe
            sandbox=""
            loading="lazy"
            title="The message"
            src="/events/${eventId}/message/${shown.id}"
          ></iframe>`
        : body
    }
  </div>`;
}
