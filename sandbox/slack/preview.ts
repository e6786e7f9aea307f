import { withEmojis } from '../../connectors/slack/describe.ts';
import type { PostedMessage } from './workspace.ts';

/** Shows Slack messages as people see them: as lines of text, and as HTML that looks like Slack. */

interface TextObject {
  readonly type: string;
  readonly text: string;
}

interface Block {
  readonly type: string;
  readonly text?: TextObject;
  readonly fields?: readonly TextObject[];
  readonly elements?: readonly (TextObject | Button)[];
  readonly accessory?: Button;
}

interface Button {
  readonly type: 'button';
  readonly text: TextObject;
  readonly url: string;
}

type Message = Pick<PostedMessage, 'text' | 'blocks' | 'username'>;

const blocksOf = ({ text, blocks }: Message): readonly Block[] =>
  (blocks as readonly Block[] | undefined) ?? [{ type: 'section', text: { type: 'mrkdwn', text } }];

const bold = /(?<!\w)\*([^*\n]+)\*(?!\w)/g;
const italic = /(?<![\w/])_([^_\n]+)_(?!\w)/g;

const isButton = (element: TextObject | Button): element is Button => element.type === 'button';

const plainOf = ({ text }: TextObject): string =>
  withEmojis(text.trimEnd())
    .replaceAll(/<https?:[^|>]*\|([^>]*)>/g, '$1')
    .replaceAll(bold, '$1')
    .replaceAll(italic, '$1')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');

/** The text of a message, line by line. */
export function linesOf(message: Message): string {
  return blocksOf(message)
    .flatMap(({ text, fields = [], elements = [], accessory }) =>
      [...(text ? [text] : []), ...fields, ...elements, ...(accessory ? [accessory] : [])].map((one) =>
        isButton(one) ? `[${one.text.text}] ${one.url}` : plainOf(one),
      ),
    )
    .join('\n');
}

/** Mrkdwn as HTML. Its entities are those of HTML; nothing else in it can be markup. */
function htmlOf({ type, text }: TextObject): string {
  const shown = withEmojis(text.trimEnd()).replaceAll('"', '&quot;');
  if (type === 'plain_text') return shown.replaceAll('<', '&lt;');
  return shown
    .replaceAll(/<(https?:[^|>]*)\|([^>]*)>/g, '<a href="$1">$2</a>')
    .replaceAll(/<(https?:[^|>]*)>/g, '<a href="$1">$1</a>')
    .replaceAll(/<[@#!]([^|>]*)(?:\|[^>]*)?>/g, '<b class="mention">@$1</b>')
    .replaceAll(bold, '<b>$1</b>')
    .replaceAll(italic, '<i>$1</i>')
    .replaceAll(/`([^`\n]+)`/g, '<code>$1</code>')
    .replaceAll('\n', '<br>');
}

const buttonHtml = ({ text, url }: Button): string =>
  `<a class="button" href="${url.replaceAll('"', '&quot;')}">${htmlOf(text)}</a>`;

function blockHtml({ type, text, fields = [], elements = [], accessory }: Block): string {
  if (type === 'divider') return '<hr>';
  if (type === 'header' && text) return `<h3>${htmlOf(text)}</h3>`;
  const parts = elements.map((one) => (isButton(one) ? buttonHtml(one) : `<span>${htmlOf(one)}</span>`));
  const cells = fields.map((field) => `<div>${htmlOf(field)}</div>`).join('');
  const said = `${text ? htmlOf(text) : ''}${cells && `<div class="fields">${cells}</div>`}${parts.join('')}`;
  return `<div class="${type}"><div>${said}</div>${accessory ? buttonHtml(accessory) : ''}</div>`;
}

const style = `
  body { margin: 0; padding: 20px 24px; width: 672px; background: #fff; color: #1d1c1d; font: 15px/22px Lato, 'Noto Color Emoji', sans-serif }
  .message { display: flex; gap: 10px; margin-bottom: 18px } .message:last-child { margin: 0 }
  .icon { flex: none; width: 36px; height: 36px; border-radius: 8px; background: #0b57d0; color: #fff; font: bold 15px/36px Lato; text-align: center }
  .who b { font-weight: 900 } .app { background: #e8e8e8; color: #616061; border-radius: 2px; padding: 1px 3px; font: bold 10px/12px Lato; vertical-align: 2px }
  .time, .context { color: #616061; font-size: 12px } .context { line-height: 18px; padding-top: 4px } .blocks { flex: 1 }
  .section { display: flex; justify-content: space-between; gap: 16px } .section + .section, h3 + .context + .section { margin-top: 8px } .fields { display: grid; grid-template-columns: 1fr 1fr; gap: 4px 16px }
  .button { flex: none; align-self: flex-start; border: 1px solid #c9c9ca; border-radius: 8px; padding: 0 12px; font: bold 13px/30px Lato; color: #1d1c1d; text-decoration: none }
  a { color: #1264a3; text-decoration: none } code { color: #c01343; border: 1px solid #ddd; border-radius: 3px; padding: 1px 3px } b { font-weight: 700 }
  hr { border: 0; border-top: 1px solid #ddd } h3 { margin: 4px 0; font-size: 18px }
  .mention { background: #e8f1fa; color: #1264a3; font-weight: 400 }`;

/** A channel with these messages, each with the time beside it, as a page. */
export function pageOf(messages: readonly Message[], times: readonly string[] = []): string {
  const shown = messages.map((message, index) => {
    const name = message.username ?? 'Hiring news';
    const head = `<div class="who"><b>${name}</b> <span class="app">APP</span> <span class="time">${times[index] ?? ''}</span></div>`;
    const blocks = blocksOf(message).map(blockHtml).join('');
    return `<div class="message"><div class="icon">${name[0]}</div><div class="blocks">${head}${blocks}</div></div>`;
  });
  return `<!doctype html><html><head><meta charset="utf-8"><style>${style}</style></head><body>${shown.join('')}</body></html>`;
}
