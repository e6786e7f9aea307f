import { html, type Html, listAt, printable, printableLines, safeUrl, textAt } from '../../src/connector.ts';
import type { Description, Preview } from '../../src/connector.ts';
import { isMap, type Json, type JsonMap } from '../../src/model.ts';

export const describe: Description<unknown> = {
  starter: {
    sink: 'slack',
    options: ["# Your Slack app's, as its bot: xoxb-…", 'token: ${SLACK_BOT_TOKEN}'],
    env: { SLACK_BOT_TOKEN: 'xoxb-1' },
    tells: 'people',
    asks: {
      key: 'channel',
      takes: 'name',
      meaning: 'the Slack channel',
      question: 'Which Slack channel, as in #hiring?',
      example: '#hiring',
    },
  },
  preview,
  link(receipt) {
    const channel = textAt(receipt, 'channel');
    if (channel === '') return null;
    const query = new URLSearchParams({ channel, message_ts: textAt(receipt, 'ts') });
    return { url: `https://slack.com/app_redirect?${query.toString()}`, name: 'Open in Slack' };
  },
  trace(receipt) {
    const [channel, ts] = [textAt(receipt, 'channel'), textAt(receipt, 'ts')];
    // Slack leads on to the workspace where one is logged in.
    return `the message ${ts} in ${channel}: https://slack.com/archives/${channel}/p${ts.replace('.', '')}`;
  },
};

function preview(message: JsonMap): Preview {
  const blocks = listAt(message, 'blocks').filter((one): one is JsonMap => isMap(one));
  const name = textAt(message, 'username') || 'Candidate Connector';
  const said = blocks.length > 0 ? blocks.map(block) : [html`<div>${mrkdwn(textAt(message, 'text'))}</div>`];
  const body = html`<div class="message">
    <span class="avatar" aria-hidden="true">${Array.from(name)[0]}</span>
    <div>
      <div><b>${printable(name)}</b> <span class="app">APP</span></div>
      ${said}
    </div>
  </div>`;
  return { where: `#${textAt(message, 'channel').replace(/^#/, '')}`, body };
}

function block(one: JsonMap): Html {
  const type = textAt(one, 'type');
  if (type === 'divider') return html`<hr />`;
  const text = isMap(one['text']) ? textObject(one['text']) : null;
  if (type === 'header') return html`<div class="header">${text}</div>`;
  const fields = listAt(one, 'fields').map((field) => html`<div>${textObject(field)}</div>`);
  const elements = listAt(one, 'elements').map(element);
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
  const url = safeUrl(textAt(one, 'url'));
  const name = textAt(one['text'], 'text');
  return url
    ? html`<a class="preview-button" href="${url}" rel="noreferrer">${emojis(name)}</a>`
    : html`<b>${name}</b>`;
}

function textObject(one: Json): Html | null {
  if (!isMap(one)) return null;
  const text = textAt(one, 'text');
  return one['type'] === 'plain_text' ? html`${emojis(text)}` : mrkdwn(text);
}

const emoji: { readonly [name: string]: string } = {
  checkered_flag: '🏁',
  white_check_mark: '✅',
  heavy_minus_sign: '➖',
  no_entry_sign: '🚫',
  warning: '⚠️',
  tada: '🎉',
  bar_chart: '📊',
};

/** The text with emojis in place of their names. */
export const withEmojis = (text: string): string =>
  text.replaceAll(/:(\w+):/g, (code, name: string) => emoji[name] ?? code);

const emojis = (text: string): string => withEmojis(printableLines(text));

/** Matches mrkdwn's links, bold, italic and code. */
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
