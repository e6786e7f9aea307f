import { perStatus, said } from '../../src/connector.ts';

// The layout of default mails: tables and inlined styles, as Outlook and Gmail need them. The colours in `style` are those of
// light mode; the classes set those of dark mode. Mail programs without that media query invert colours by themselves: so
// every background has the colour of its text set with it, and there are no images.

/** A part of a mail, as HTML with templates. */
export type Html = string;

interface Part {
  /** The line that mail programs show beside the subject. */
  readonly preview: string;
  /** A few words in small letters on a colour, above the title. */
  readonly badge?: { readonly text: string; readonly color: string };
  readonly title: string;
  readonly body: Html;
}

const font = "font-family:'Segoe UI',Helvetica,Arial,sans-serif";

const darkColors = {
  page: 'background-color:#16181b',
  card: 'background-color:#212529;border-color:#3b424a',
  ink: 'color:#f1f3f5',
  soft: 'color:#adb5bd',
  link: 'color:#8ab4f8',
  line: 'border-color:#3b424a',
} as const;

/** `[data-ogsc]` and `[data-ogsb]` are how Outlook on the web says that it is dark. */
const darkStyles = Object.entries(darkColors).map(([name, style]) => {
  const rules = style.replaceAll(/;|$/g, '!important;');
  const outlook = style.startsWith('background') ? `[data-ogsb] .${name}` : `[data-ogsc] .${name}`;
  return [`.${name}{${rules}}`, `${outlook}{${rules}}`] as const;
});

/** Gmail leaves out a whole `style` in which it does not know something: so Outlook's have one of their own. */
const styles = [
  `:root{color-scheme:light dark;supported-color-schemes:light dark}
@media (prefers-color-scheme:dark){${darkStyles.map(([dark]) => dark).join('')}}`,
  darkStyles.map(([, outlook]) => outlook).join('\n'),
]
  .map((rules) => `<style>\n${rules}\n</style>\n`)
  .join('');

const table = 'role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0"';
const ink = `color:#1f2328;${font}`;
const soft = `color:#57606a;${font}`;

/** Behind white text, in light and dark. */
export const statusColor = perStatus({ Completed: '#1a7f37', DidNotTake: '#9a6700', Canceled: '#cf222e' });
export const warningColor = '#bc4c00';
export const recoveredColor = '#1a7f37';
export const summaryColor = '#0b57d0';

export const layout = ({ preview, badge, title, body }: Part): Html => `<!doctype html>
<html lang="${said('languageCode')}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<title>${title}</title>
${styles}</head>
<body class="page" style="margin:0;padding:0;background-color:#f3f4f6;color:#1f2328">
<div style="display:none;max-height:0;overflow:hidden">${preview}</div>
<table ${table} class="page" bgcolor="#f3f4f6" style="background-color:#f3f4f6"><tr><td align="center" style="padding:24px 12px">
<!--[if mso]><table role="presentation" width="560"><tr><td><![endif]-->
<table ${table} class="card" bgcolor="#ffffff" style="max-width:560px;background-color:#ffffff;border:1px solid #d0d7de;border-radius:8px">
<tr><td style="padding:24px 28px;word-break:break-word">
${badge ? `<p style="margin:0 0 10px;font-size:12px;line-height:20px"><span style="display:inline-block;padding:1px 10px;border-radius:11px;background-color:${badge.color};color:#ffffff;font-weight:bold;${font}">${badge.text}</span></p>\n` : ''}<h1 class="ink" style="margin:0 0 16px;font-size:20px;line-height:28px;font-weight:bold;${ink}">${title}</h1>
${body}</td></tr></table>
<!--[if mso]></td></tr></table><![endif]-->
<p class="soft" style="margin:16px 0 0;font-size:12px;line-height:18px;${soft}">${said('sentBy')}</p>
</td></tr></table>
</body>
</html>
`;

export const link = (address: string, text: string): Html =>
  `<a class="link" href="${address}" style="color:#0b57d0">${text}</a>`;

/** A table of names and values. */
export function details(rows: readonly (readonly [name: string, value: Html])[]): Html {
  const cell = 'padding:6px 0;font-size:14px;line-height:20px;vertical-align:top';
  const lines = rows.map(
    ([name, value]) =>
      `<tr><td class="soft" width="110" style="${cell};word-break:normal;${soft}">${name}</td><td class="ink" style="${cell};${ink}">${value}</td></tr>\n`,
  );
  return `<table ${table}>\n${lines.join('')}</table>\n`;
}

export const next = (text: string): Html =>
  `<p class="ink" style="margin:16px 0 0;font-size:14px;line-height:21px;${ink}"><b>${said('whatNext')}</b> ${text}</p>\n`;

export const note = (text: string): Html =>
  `<p class="soft" style="margin:16px 0 8px;font-size:12px;line-height:18px;${soft}">${text}</p>\n`;

export const button = (address: string, text: string): Html =>
  `<table role="presentation" cellpadding="0" cellspacing="0" border="0" style="margin-top:20px"><tr><td bgcolor="#0b57d0" style="background-color:#0b57d0;border-radius:6px;mso-padding-alt:10px 20px"><a href="${address}" style="display:inline-block;padding:10px 20px;font-size:14px;line-height:20px;font-weight:bold;background-color:#0b57d0;color:#ffffff;border-radius:6px;text-decoration:none;${font}">${text}</a></td></tr></table>\n`;

/** The heading of a list, what may stand below it, and one line of the list. */
export const heading = (name: string, below: Html): Html =>
  `<p class="ink" style="margin:20px 0 4px;font-size:15px;line-height:22px;${ink}"><b>${name}</b>${below}</p>\n`;

export const subheading = (text: string): Html =>
  `<br><span class="soft" style="font-size:13px;${soft}">${text}</span>`;

export const rows = (all: Html): Html =>
  `<table ${table} style="font-size:14px;line-height:20px">\n${all}</table>\n`;

export const row = (what: Html, when: string): Html =>
  `<tr><td class="ink line" style="padding:6px 0;border-top:1px solid #d0d7de;${ink}">${what}</td><td class="soft line" align="right" style="padding:6px 0;border-top:1px solid #d0d7de;word-break:normal;${soft}">${when}</td></tr>\n`;
