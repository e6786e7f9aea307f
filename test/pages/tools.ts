import type { App } from '../../src/app.ts';
import { base, serving, workplace } from '../commands/tools.ts';

export const password = 'correct horse battery';

/** What somebody reads of a page. */
export const wordsOf = (page: string): string => page.replaceAll(/<[^>]*>/g, '');

/** The header of a program that logs in with each request. */
export const basic = (user = 'ops', given = password) => ({
  authorization: `Basic ${Buffer.from(`${user}:${given}`).toString('base64')}`,
});

/** A connector with a password, and what a browser would do to it. */
export async function startPages(
  more = 'sinks: {}\nrules: []\n',
  env: Readonly<Record<string, string>> = {},
  withPassword = true,
  others = '',
) {
  const { folder, write } = await workplace();
  const admin = withPassword
    ? `admin: { port: 0, password: "${password}"${others && `, ${others}`} }`
    : 'admin: { port: 0 }';
  const text = `${base(folder).replace('admin: { port: 0 }', admin)}${more}`;
  const file = await write('config.yaml', text);
  const app = await serving(file, env);
  return { app, file, folder, text, ...asBrowser(app) };
}

interface Sending {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly form?: Readonly<Record<string, string>> | readonly [string, string][];
}

/** Requests as a browser makes them: for pages, with a cookie, following no redirect. */
export function asBrowser({ adminUrl }: App) {
  let cookie = '';
  const send = async (path: string, { form, headers, ...rest }: Sending = {}) => {
    const response = await fetch(adminUrl + path, {
      redirect: 'manual',
      headers: { accept: 'text/html', ...(cookie !== '' && { cookie }), ...headers },
      ...(form && { method: 'POST', body: new URLSearchParams(form as Record<string, string>) }),
      ...rest,
    });
    const [set] = response.headers.getSetCookie();
    if (set !== undefined) cookie = set.split(';')[0] ?? '';
    return response;
  };
  const page = async (path: string) => (await send(path)).text();
  const csrf = async () => /name="csrf" value="([^"]+)"/.exec(await page('/'))?.[1] ?? '';
  const login = (given = password, more: Readonly<Record<string, string>> = {}) =>
    send('/login', { form: { password: given, ...more } });
  return { send, page, csrf, login };
}
