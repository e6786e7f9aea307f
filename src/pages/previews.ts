import { isMap, type Json, type JsonMap } from '../model.ts';
import type { DeliveryStory } from '../store/store.ts';
import { seen } from './fragments.ts';
import { html, type Html, safeUrl } from './html.ts';

/** Messages as people see them in the tool. */

type Shown = Pick<DeliveryStory, 'id' | 'connector' | 'message'>;

/** `eventId`: null where no event has come, so that a mail is shown by its text. */
export function preview({ connector, message, id }: Shown, eventId: string | null): Html | null {
  if (!isMap(message ?? undefined)) return null;
  const shown = message as JsonMap;
  if (connector === 'slack') return slack(shown);
  if (connector === 'email') return mail(shown, eventId, id);
  if (connector === 'google-sheets') return sheetRow(shown);
  return call(shown);
}

const textIn = (map: Json | undefined, key: string): string => {
  const value = isMap(map) ? map[key] : undefined;
  return typeof value === 'string' ? value : '';
};
const listIn = (map: JsonMap, key: string): readonly Json[] => {
  const value = map[key];
  return Array.isArray(value) ? (value as readonly Json[]) : [];
};

function slack(message: JsonMap): Html {
  const blocks = listIn(message, 'blocks').filter((one): one is JsonMap => isMap(one));
  const name = textIn(message, 'username') || 'Candidate Connector';
  const said = blocks.length > 0 ? blocks.map(block) : [html`<div>${mrkdwn(textIn(message, 'text'))}</div>`];
  return html`<div class="preview slack">
    <div class="where">#${seen(textIn(message, 'channel').replace(/^#/, ''))}</div>
    <div class="message">
      <span class="avatar" aria-hidden="true">${Array.from(name)[0]}</span>
      <div>
        <div><b>${seen(name)}</b> <span class="app">APP</span></div>
        ${said}
      </div>
    </div>
  </div>`;
}

function block(one: JsonMap): Html {
  const type = textIn(one, 'type');
  if (type === 'divider') return html`<hr />`;
  const text = isMap(one['text']) ? textObject(one['text']) : null;
  if (type === 'header') return html`<div class="header">${text}</div>`;
  const fields = listIn(one, 'fields').map((field) => html`<div>${textObject(field)}</div>`);
  const elements = listIn(one, 'elements').map(element);
  const accessory = isMap(one['accessory']) ? element(one['accessory']) : null;
  return html`<div class="block ${type === 'context' ? 'context' : 'section'}">
    <div>
      ${text}${fields.length > 0 && html`<div class="columns">${fields}</div>`}
      ${elements.length > 0 && html`<div class="elements">${elements}</div>`}
    </div>
    ${accessory}
  </div>`;
}

function element(one: Json): Html | null {
  if (!isMap(one)) return null;
  if (one['type'] !== 'button') return html`<span>${textObject(one)}</span>`;
  const url = safeUrl(textIn(one, 'url'));
  const name = textIn(one['text'], 'text');
  return url
    ? html`<a class="slack-button" href="${url}" rel="noreferrer">${emojis(name)}</a>`
    : html`<b>${name}</b>`;
}

function textObject(one: Json): Html | null {
  if (!isMap(one)) return null;
  const text = textIn(one, 'text');
  return one['type'] === 'plain_text' ? html`${emojis(text)}` : mrkdwn(text);
}

const emoji: { readonly [name: string]: string } = {
  checkered_flag: '🏁',
  white_check_mark: '✅',
  heavy_minus_sign: '➖',
  no_entry_sign: '🚫',
  warning: '⚠️',
  tada: '🎉',
};

/** Names of emojis as Slack shows them. */
export const withEmojis = (text: string): string =>
  text.replaceAll(/:(\w+):/g, (code, name: string) => emoji[name] ?? code);

const emojis = (text: string): string => withEmojis(seenText(text));

/** Lines stay lines. */
const seenText = (text: string): string => text.split('\n').map(seen).join('\n');

/** A link, bold, italic or code, as Slack writes them; all else is text. */
const marks = /<([^<>|]+)(?:\|([^<>]*))?>|(?<!\w)\*([^*\n]+)\*(?!\w)|(?<!\w)_([^_\n]+)_(?!\w)|`([^`\n]+)`/g;

function mrkdwn(text: string): Html {
  const parts: (Html | string)[] = [];
  let at = 0;
  for (const found of text.matchAll(marks)) {
    parts.push(plain(text.slice(at, found.index)), marked(found));
    at = found.index + found[0].length;
  }
  return html`<span class="lines">${[...parts, plain(text.slice(at))]}</span>`;
}

function marked([, link, name, bold, italic, code]: RegExpMatchArray): Html {
  if (bold !== undefined) return html`<b>${mrkdwn(bold)}</b>`;
  if (italic !== undefined) return html`<i>${mrkdwn(italic)}</i>`;
  if (code !== undefined) return html`<code>${plain(code)}</code>`;
  const url = /^(https?|mailto):/.test(link ?? '') ? safeUrl(plain(link ?? '')) : null;
  if (url) return html`<a href="${url}" rel="noreferrer">${plain(name ?? link ?? '')}</a>`;
  return html`<b class="mention">@${plain(name ?? (link ?? '').replace(/^[@#!]/, ''))}</b>`;
}

const plain = (text: string): string =>
  emojis(text).replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');

function mail(message: JsonMap, eventId: string | null, deliveryId: string): Html {
  const people = (key: string) =>
    listIn(message, key)
      .map((one) => (typeof one === 'string' ? one : textIn(one, 'address') || textIn(one, 'name')))
      .join(', ');
  const hasHtml = eventId !== null && textIn(message, 'html') !== '';
  return html`<div class="preview mail">
    <div class="where">To ${seen(people('to') || people('cc') || people('bcc'))}</div>
    <div class="subject">${seen(textIn(message, 'subject'))}</div>
    ${
      hasHtml
        ? html`<iframe
            sandbox=""
            loading="lazy"
            title="The mail"
            src="/events/${eventId}/mail/${deliveryId}"
          ></iframe>`
        : html`<pre tabindex="0">${seenText(textIn(message, 'text'))}</pre>`
    }
  </div>`;
}

/** The HTML of a delivery's mail. */
export function mailOf(delivery: DeliveryStory | undefined): string | null {
  const text = delivery?.connector === 'email' ? textIn(delivery.message ?? undefined, 'html') : '';
  return text === '' ? null : text;
}

function sheetRow(message: JsonMap): Html {
  const row = Object.entries(isMap(message['row']) ? message['row'] : {});
  return html`<div class="preview sheet">
    <div class="where">Tab ${seen(textIn(message, 'tab'))}</div>
    <div class="table" tabindex="0">
      <table>
        <thead>
          <tr>
            ${row.map(([header]) => html`<th scope="col">${seen(header)}</th>`)}
          </tr>
        </thead>
        <tbody>
          <tr>
            ${row.map(([, cell]) => html`<td>${seen(typeof cell === 'string' ? cell : JSON.stringify(cell))}</td>`)}
          </tr>
        </tbody>
      </table>
    </div>
  </div>`;
}

function call(message: JsonMap): Html {
  const { body } = message;
  const path = textIn(message, 'path');
  const text = typeof body === 'string' ? body : JSON.stringify(body ?? message, null, 2);
  return html`<div class="preview call">
    <div class="where">${seen(textIn(message, 'method') || 'POST')} ${seen(path)}</div>
    <pre tabindex="0">${seenText(text)}</pre>
  </div>`;
}
