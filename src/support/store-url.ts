export const isPostgres = (url: string): boolean => /^postgres(ql)?:/.test(url);

/** The URLs of a database, each with one of the hosts of `postgres://user@a:5432,b:5432/database`. */
export function urlsOfHosts(text: string): string[] {
  const [, before, hosts = '', after = ''] =
    /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^@/?#]*)(.*)$/s.exec(text) ?? [];
  return before === undefined ? [text] : hosts.split(',').map((host) => `${before}${host}${after}`);
}

/** The URL of one host; null if it is none. */
export function parseHostUrl(text: string): URL | null {
  try {
    const url = new URL(text);
    decodeURIComponent(`${url.username}${url.password}${url.pathname}`);
    return url;
  } catch {
    return null;
  }
}

/** The URL for logs. */
export function withoutPassword(url: string): string {
  if (!isPostgres(url)) return url;
  const [first, ...others] = urlsOfHosts(url).map((one) => URL.parse(one));
  if (!first || others.includes(null)) return url;
  if (first.password !== '') first.password = '***';
  first.searchParams.delete('password');
  const hosts = [first, ...others].map((one) => one!.host);
  return first.href.replace(first.host, hosts.join());
}

const sslModes = ['disable', 'no-verify', 'require', 'verify-ca', 'verify-full'];
const known = [
  'schema',
  'application_name',
  'channel_binding',
  'host',
  'target_session_attrs',
  'sslmode',
  'sslrootcert',
  'sslcert',
  'sslkey',
];

/** What is wrong with the options of a PostgreSQL URL, or null. */
export function optionsFault(options: URLSearchParams): string | null {
  const unknown = [...options.keys()].find((name) => !known.includes(name));
  if (unknown !== undefined)
    return `${unknown} is not an option of a postgres URL here. Expected ${known.join(', ')}.`;
  const target = options.get('target_session_attrs') ?? 'read-write';
  if (!['read-write', 'primary'].includes(target))
    return `target_session_attrs=${target} is not supported: the store needs the server that can be written.`;
  const schema = options.get('schema') ?? 'public';
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(schema))
    return `schema=${schema} is not a name that is taken here. Expected small letters, digits and _, as in schema=candidate_connector.`;
  const mode = options.get('sslmode') ?? 'disable';
  return sslModes.includes(mode)
    ? null
    : `sslmode=${mode} is not supported. Expected ${sslModes.join(', ')}.`;
}
