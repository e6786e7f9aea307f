import { isIP } from 'node:net';
import type { Dispatcher, ProxyAgent } from 'undici';
import { z } from 'zod';
import { addressList, listHas, parseRange } from '../http/addresses.ts';

/** The `proxy` option of sinks that call over HTTP. */
export const proxyOption = () =>
  z
    .url({
      protocol: /^https?$/,
      error: 'expected the URL of a proxy, such as http://proxy.example.com:3128, or none',
    })
    .or(z.literal('none'))
    .optional()
    .describe(
      'The proxy that calls go through; `none` for none. Default: HTTPS_PROXY, HTTP_PROXY and NO_PROXY.',
    );

/** The proxy's URL for calls to `url`, by the sink's option, or else by the environment; null for none. */
export function proxyFor(url: string, option: string | undefined): string | null {
  if (option !== undefined) return option === 'none' ? null : proxyUrl(option, 'proxy');
  const { protocol, hostname, port } = new URL(url);
  const name = protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY';
  const usedPort = port || (protocol === 'https:' ? '443' : '80');
  const excepted = variable('NO_PROXY')
    .toLowerCase()
    .split(/[\s,]+/);
  const isExcepted = excepted.some((entry) => excepts(entry, withoutBrackets(hostname), usedPort));
  return variable(name) === '' || isExcepted ? null : proxyUrl(variable(name), name);
}

const variable = (name: string): string => process.env[name.toLowerCase()] ?? process.env[name] ?? '';

/** A proxy's URL as other programs read it: without a scheme it is `http://`, and a `%` that begins no code stays. */
function proxyUrl(written: string, name: string): string {
  const url = URL.parse(
    (written.includes('://') ? written : `http://${written}`).replace(/%(?![\da-f]{2})/gi, '%25'),
  );
  if (url && /^https?:$/.test(url.protocol)) return url.href;
  throw new Error(`${name} is not the URL of a proxy, such as http://proxy.example.com:3128`);
}

/** An entry of NO_PROXY: `*`, an address or range of addresses, or a host with all below it, perhaps with a port. */
function excepts(entry: string, host: string, port: string): boolean {
  if (entry === '*') return true;
  if (parseRange(entry)) return isIP(host) !== 0 && listHas(addressList([entry]), host);
  const [, name = '', onlyPort] = /^(?:\*?\.)?([^:]*?|\[.*\])\.?(?::(\d+))?$/.exec(entry) ?? [];
  if (name === '' || (onlyPort !== undefined && onlyPort !== port)) return false;
  return host === withoutBrackets(name) || host.endsWith(`.${name}`);
}

const withoutBrackets = (host: string): string => host.replace(/^\[|\]$/g, '');

/** A proxy that a client library's calls go through. */
export interface Proxy {
  readonly host: string;
  readonly dispatcher: Dispatcher;
}

/** Opens the proxy for calls with `fetch`; null where they go straight. */
export async function openProxy(url: string, option: string | undefined): Promise<Proxy | null> {
  const uri = proxyFor(url, option);
  return uri === null
    ? null
    : { host: new URL(uri).host, dispatcher: proxyAgent(await import('undici'), uri) };
}

const connectTimeoutMs = 10_000;

/** The code of an error where the proxy opened no tunnel, so that nothing of a request has left. */
export const noTunnel = 'NO_TUNNEL';

const withoutTunnel = (cause?: unknown): Error =>
  Object.assign(new Error('no tunnel', { cause }), { code: noTunnel });

/** An agent for calls through a proxy. Takes undici, which is loaded late. */
export function proxyAgent(
  { Pool, ProxyAgent }: Pick<typeof import('undici'), 'Pool' | 'ProxyAgent'>,
  uri: string,
  options: Omit<ProxyAgent.Options, 'uri'> = {},
): ProxyAgent {
  const clientFactory = (origin: URL, given: object): Dispatcher => {
    // The library would wait five minutes for a proxy that does not answer, and keep all requests waiting behind it.
    const pool = new Pool(origin, { ...given, headersTimeout: connectTimeoutMs });
    const connect: (request: never) => Promise<Dispatcher.ConnectData> = pool.connect.bind(pool);
    return Object.assign(pool, {
      connect: async (request: never) => {
        const answer = await connect(request).catch((cause: unknown) => {
          throw withoutTunnel(cause);
        });
        // No tool speaks first, so this is the proxy's own page. The library would connect anew for ever.
        if (answer.statusCode === 200 && answer.socket.readableLength > 0) {
          answer.socket.on('error', () => {}).destroy();
          throw withoutTunnel();
        }
        return answer;
      },
    }) as Dispatcher;
  };
  return new ProxyAgent({
    connectTimeout: connectTimeoutMs,
    ...options,
    uri,
    // Also without TLS, so that no answer of the proxy is taken for the tool's.
    proxyTunnel: true,
    allowH2: false,
    clientFactory,
  });
}
