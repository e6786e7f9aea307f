import { z } from 'zod';
import { secret } from '../connector.ts';
import {
  addressesIn,
  addressList,
  isLoopback,
  listHas,
  parseRange,
  publishedAddresses,
  sameHost,
} from '../http/addresses.ts';
import { isPostgres, optionsFault, parseHostUrl, urlsOfHosts } from '../support/store-url.ts';
import type { JsonMap } from '../model.ts';
import { error, type Fault, warning } from './text/problems.ts';
import { type Reading, validate } from './text/validate.ts';
import { duration, size } from './text/units.ts';

const addressExpected = 'an address such as 203.0.113.7, or a CIDR such as 10.0.0.0/8';

/** True for an IPv4 or IPv6 address, and for a CIDR. */
const isAddress = (text: string): boolean => parseRange(text) !== null;

const senderExpected = `expected published, ${addressExpected}`;
const sendersExpected = 'expected published, any, or addresses and CIDRs as a list or with commas';
const proxiesExpected =
  'expected how many proxies stand in front (0, 1, 2 …), or their addresses and CIDRs as a list or with commas';

const isSender = (text: string): boolean => text === 'published' || isAddress(text);
const split = (text: string): string[] => text.split(',').map((part) => part.trim());

/** Addresses separated by commas, so that a variable can hold several. */
const commaSeparated = (isOne: (text: string) => boolean, expected: string, words: readonly string[] = []) =>
  z
    .string()
    .superRefine((text, context) => {
      if (!split(text).every(isOne))
        context.addIssue({ code: 'custom', message: expected, params: { candidates: words } });
    })
    .transform(split);

const listed = (isOne: (text: string) => boolean, expected: string) =>
  z.array(z.string({ error: expected }).refine(isOne, { error: expected })).min(1);

/** Who may call: 'any', or addresses and CIDRs with `published` expanded. */
const allowFrom = z
  .union(
    [
      z.enum(['published', 'any']),
      commaSeparated(isSender, sendersExpected, ['published', 'any']),
      listed(isSender, senderExpected),
    ],
    { error: sendersExpected },
  )
  .transform((value): 'any' | readonly string[] => {
    if (value === 'any') return value;
    const senders = value === 'published' ? [value] : value;
    return senders.flatMap((text) => (text === 'published' ? publishedAddresses : [text]));
  });

const headerName = (expected: string) => z.string().regex(/^[\w!#$%&'*+.^`|~-]+$/, { error: expected });

const addressesExpected = 'expected addresses and CIDRs, as a list or with commas';
const addressLists = (expected: string) =>
  [commaSeparated(isAddress, expected), listed(isAddress, `expected ${addressExpected}`)] as const;

/** The proxies in front: how many, or their addresses. */
const trustProxy = z.union([z.int().min(0).max(16), ...addressLists(proxiesExpected)], {
  error: proxiesExpected,
});

/** The proxies that log people in, and how they say whom. */
const loginProxy = z
  .strictObject({
    from: z
      .union(addressLists(addressesExpected), { error: addressesExpected })
      .describe('The addresses and CIDRs of the proxies, as they connect to this port.'),
    header: headerName('expected the name of a header')
      .default('X-Forwarded-User')
      .describe('The header that names who logged in; from any other address it means nothing.'),
    role: z
      .enum(['viewer'])
      .optional()
      .describe('`viewer`: who comes through it may look only. Without it, everything.'),
  })
  .transform(({ from, header, role }) => ({
    from,
    header: header.toLowerCase(),
    role: role ?? ('full' as const),
  }));

const port = z.int().min(0).max(65_535);
const hostName = z.string().regex(/^[\w.:-]+$/, { error: 'expected a host name or an address to listen on' });
/**
 * A URL's path (RFC 3986, 3.3), with letters of any script, which clients send percent-encoded. The letters are ranges, as
 * this pattern is in the JSON Schema, and not every reader of one knows `\p{L}`.
 */
const path = z
  .string()
  .regex(/^\/[\w\-./~%!$&'()*+,;=:@\u00a1-\u1fff\u2c00-\ud7ff]*$/, {
    error: 'expected a path such as /webhooks/candidates, without query',
  })
  .refine((text) => text !== '/healthz' && text !== '/readyz', {
    error: '/healthz and /readyz answer health checks; choose another path',
  })
  .transform((text) => text.replace(/[^ -~]+/g, encodeURIComponent));

const storeUrl = z.string().superRefine((url, context) => {
  if (isPostgres(url)) {
    const urls = urlsOfHosts(url).map((one) => parseHostUrl(one));
    const fault = urls.includes(null)
      ? 'expected a URL such as postgres://user:${PG_PASSWORD}@host:5432/database'
      : optionsFault(urls[0]!.searchParams);
    if (fault !== null) context.addIssue(fault);
  } else if (url === 'sqlite::memory:') context.addIssue('a store must outlive the process: name a file');
  else if (!/^sqlite:.+/.test(url))
    context.addIssue(
      'expected sqlite: and a file, as in sqlite:./data/connector.db, or postgres://user@host/database',
    );
});

/** The schemas of the top sections about the process itself. */
export const settingSchemas = {
  receiver: z
    .strictObject({
      host: hostName.default('0.0.0.0').describe('The address to listen on.'),
      port: port.default(8080).describe('The port to listen on; 0 takes any free one.'),
      path: path
        .prefault('/webhooks/candidates')
        .describe("The path of the webhook URL that is set in the service's account."),
      allowFrom: allowFrom
        .prefault('published')
        .describe(
          'Who may call. `published` stands for the addresses that the service documents and can be mixed with your own addresses and CIDRs. A text with commas is a list too, so that it fits into a variable.',
        ),
      trustProxy: trustProxy
        .prefault(0)
        .describe(
          'The proxies in front whose `X-Forwarded-For` is believed: how many, or their addresses and CIDRs.',
        ),
      token: z
        .union([secret(), z.array(secret()).min(1)])
        .optional()
        .describe(
          'When set, callers must send it as `?token=` or as `Authorization: Bearer`. Of a list, any one.',
        ),
      correlationHeader: headerName('expected auto, or the name of a header')
        .default('auto')
        .describe('The header with the correlation id. `auto` takes any `X-…-CorrelationId`.'),
      maxBody: size().prefault('64kb').describe('The largest body that is read, at most 16mb.'),
      retryFor: duration({ max: '20s' })
        .prefault('20s')
        .describe(
          'How long storing an event is tried again before it is answered 503, as while PostgreSQL restarts or the disk is full. The service waits 30 s, and sends once more.',
        ),
    })
    .transform(({ token = [], correlationHeader, maxBody, retryFor, ...rest }) => ({
      ...rest,
      token: [token].flat(),
      correlationHeader: correlationHeader.toLowerCase(),
      maxBodyBytes: maxBody,
      retryForMs: retryFor,
    }))
    .prefault({})
    .describe('Where and from whom events are received.'),
  store: z
    .strictObject(
      {
        url: storeUrl
          .default('sqlite:./data/connector.db')
          .describe(
            'Where events and deliveries are kept: `sqlite:` and a file, or `postgres://user:${PG_PASSWORD}@host:5432/database` where several replicas run.',
          ),
        retention: duration({ min: '1h' })
          .prefault('365d')
          .describe(
            'How long an event is kept once all of its deliveries have ended; not shorter than `idempotency.window`.',
          ),
        secretKey: secret()
          .refine((key) => Buffer.from(key.reveal(), 'base64').length === 32, {
            error: 'expected 32 bytes in base64, as `openssl rand -base64 32` prints them',
          })
          .optional()
          .describe(
            'Encrypts (AES-256-GCM) the OAuth refresh tokens that a server gave in place of the one in the config: 32 bytes in base64, from `openssl rand -base64 32`.',
          ),
      },
      {
        error: ({ code }) =>
          code === 'invalid_type'
            ? "expected a map such as { url: 'sqlite:./data/connector.db' }"
            : undefined,
      },
    )
    .transform(({ url, retention, secretKey = null }) => ({ url, retentionMs: retention, secretKey }))
    .prefault({})
    .describe('Where everything is kept, and how long.'),
  idempotency: z
    .strictObject({
      window: duration()
        .prefault('24h')
        .describe(
          'How long the same candidate, test and status under another correlation id count as a duplicate.',
        ),
    })
    .transform(({ window }) => ({ windowMs: window }))
    .prefault({})
    .describe('What counts as the same event.'),
  shutdown: z
    .strictObject({
      delay: duration({ max: '10m' })
        .prefault('5s')
        .describe(
          'How long one of several replicas on PostgreSQL goes on answering after SIGTERM, while `/readyz` is 503, so that the proxy sends nobody any more when the port closes; up to `10m`.',
        ),
    })
    .transform(({ delay }) => ({ delayMs: delay }))
    .prefault({})
    .describe('How one of several replicas stops.'),
  admin: z
    .strictObject({
      host: hostName
        .default('127.0.0.1')
        .describe('The address of the operations page, its API, /metrics and its own health endpoints.'),
      port: port.default(8081).describe('The port of the same.'),
      password: secret()
        .optional()
        .describe(
          'Needed where `host` can be reached from other machines, with 12 characters or more. Without one, the port only reads.',
        ),
      viewer: secret()
        .optional()
        .describe(
          'A second password: who has it sees everything but what look-ups found out about a person, and may change nothing.',
        ),
      metrics: secret().optional().describe('A third password, for `/metrics` alone.'),
      proxy: loginProxy.optional().describe('A proxy in front that logs people in, and names them.'),
      title: z
        .string()
        .trim()
        .min(1)
        .max(60)
        .optional()
        .describe('What this connector is called on its pages, where there are several.'),
    })
    .transform(({ password = null, viewer = null, metrics = null, proxy = null, title = null, ...rest }) => ({
      ...rest,
      password,
      viewer,
      metrics,
      proxy,
      title,
    }))
    .prefault({})
    .describe('Where the operations page, its API and /metrics are.'),
  log: z
    .strictObject({
      level: z
        .enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'])
        .default('info')
        .describe('The least severe lines to write.'),
      format: z
        .enum(['auto', 'json', 'pretty'])
        .default('auto')
        .describe(
          '`json` for machines, `pretty` for people. `auto`: `pretty` on a terminal, `json` elsewhere.',
        ),
    })
    .prefault({})
    .describe('What is logged, to standard output.'),
};

/** The top sections about the process itself, as their schemas read them. */
export type Settings = {
  readonly [Key in keyof typeof settingSchemas]: Readonly<z.output<(typeof settingSchemas)[Key]>>;
};

/** The keys of the admin port's passwords. */
export const adminPasswords = ['password', 'viewer', 'metrics'] as const;
type AdminPassword = (typeof adminPasswords)[number];

/** Shorter ones are guessed. */
const leastPassword = 12;

/** The password that is too short for an admin port which other machines can reach, and the message; null if none is. */
export function tooShort(
  admin: Settings['admin'],
): { readonly key: AdminPassword; readonly message: string } | null {
  const { host } = admin;
  const key = isLoopback(host)
    ? undefined
    : adminPasswords.find((one) => (admin[one]?.reveal().length ?? leastPassword) < leastPassword);
  if (key === undefined) return null;
  const message = `admin.${key} needs ${leastPassword} characters or more, because other machines can reach ${host}; make one with \`openssl rand -hex 24\``;
  return { key, message };
}

/** Whether the admin port has no way to log in, so that everybody on this machine may look. */
export const isOpen = (admin: Settings['admin']): boolean =>
  admin.proxy === null && adminPasswords.every((key) => admin[key] === null);

/** Reads the settings. Reports faults, and leaves out sections that have some. */
export function readSettings(config: JsonMap, reading: Reading): Partial<Settings> {
  const sections = Object.entries(settingSchemas).flatMap(([key, schema]) => {
    const section = validate({ schema, raw: config[key] ?? {}, path: [key] }, reading);
    return section === undefined ? [] : [[key, section] as const];
  });
  const settings: Partial<Settings> = Object.fromEntries(sections);
  for (const fault of contradictions(settings)) reading.report(fault);
  return settings;
}

function contradictions({ receiver, admin, store, idempotency }: Partial<Settings>): Fault[] {
  const faults: Fault[] = [
    ...(admin ? faultsOfAdmin(admin) : []),
    ...(receiver && trustsSenders(receiver.trustProxy)
      ? [warning(['receiver', 'trustProxy'], sendersTrusted)]
      : []),
    // No error, as an upgrade must not stop the receiving of events.
    ...(receiver?.token.some((token) => token.reveal().length < leastPassword)
      ? [warning(['receiver', 'token'], tokenTooShort)]
      : []),
  ];
  if (
    receiver &&
    admin &&
    admin.port !== 0 &&
    receiver.port === admin.port &&
    sameHost(receiver.host, admin.host)
  ) {
    const message = `port ${admin.port} is the receiver's too; the two need ports of their own`;
    faults.push(error(['admin', 'port'], message));
  }
  if (store && idempotency && store.retentionMs < idempotency.windowMs) {
    const message = 'events would be deleted before the idempotency window ends; keep them longer';
    faults.push(error(['store', 'retention'], message));
  }
  return faults;
}

const tokenTooShort = `a token of fewer than ${leastPassword} characters may be guessed, and whoever has it may send events; make one with \`openssl rand -hex 24\``;
const sendersTrusted =
  "the testing service's own addresses are among these proxies, so whoever calls from one of them, or through a proxy, may write any sender into X-Forwarded-For; name the proxies alone";

function trustsSenders(trusted: Settings['receiver']['trustProxy']): boolean {
  return typeof trusted !== 'number' && hasSenders(trusted);
}

/** Whether any of the testing service's own addresses is among these. */
export function hasSenders(addresses: readonly string[]): boolean {
  const list = addressList(addresses);
  return publishedAddresses.some((address) => listHas(list, address));
}

const mostProxies = 256;
/** Headers that do not say that somebody logged in. The credentials of some would be shown as a name. */
const sentByAnybody = new Set(
  [
    'authorization cookie host user-agent referer origin accept via forwarded',
    'x-forwarded-for x-forwarded-host x-forwarded-proto x-real-ip x-request-id',
  ].flatMap((names) => names.split(' ')),
);

function faultsOfAdmin(admin: Settings['admin']): Fault[] {
  const faults: Fault[] = [];
  if (isOpen(admin) && !isLoopback(admin.host))
    faults.push(
      error(['admin'], `admin.password is needed, because other machines can reach ${admin.host}`, 'key'),
    );
  const values = adminPasswords.map((key) => admin[key]?.reveal());
  for (const [index, key] of adminPasswords.entries()) {
    const same = adminPasswords[values.indexOf(values[index])];
    if (values[index] !== undefined && same !== key)
      faults.push(error(['admin', key], `admin.${key} is the same as admin.${same}; the two need to differ`));
  }
  if (sentByAnybody.has(admin.proxy?.header.toLowerCase() ?? ''))
    faults.push(
      warning(
        ['admin', 'proxy', 'header'],
        'browsers and proxies send this header for everybody, so whoever comes through the proxy is let in; take the one that names who logged in, as X-Forwarded-User',
      ),
    );
  const from = admin.proxy?.from ?? [];
  if (from.reduce((sum, range) => sum + addressesIn(range), 0) > mostProxies)
    faults.push(
      warning(
        ['admin', 'proxy', 'from'],
        `these are more than ${mostProxies} addresses, and whoever has one of them may say who they are; name the proxies alone`,
      ),
    );
  return faults;
}
