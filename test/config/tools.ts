import { z } from 'zod';
import type { CheckedConfig, ConfigError, Problem } from '../../src/config/config.ts';
import { ConfigError as ConfigErrorClass } from '../../src/config/config.ts';
import { parseConfig } from '../../src/config/load.ts';
import type { AnyConnector } from '../../src/connector.ts';
import { defineConnector, plain, secret } from '../../src/connector.ts';

/** A connector with one option and one key of every kind that configs have to deal with. */
export const pager = defineConnector({
  name: 'pager',
  options: z.strictObject({
    token: secret().describe('The credential.'),
    url: z.url().optional().describe('The address.'),
    loud: z.boolean().default(false).describe('Whether to ring.'),
    keys: z
      .union([secret(), z.array(secret()).min(1)])
      .optional()
      .describe('Signing keys.'),
  }),
  action: z
    .strictObject({
      channel: z.string().optional().describe('Where to.'),
      text: z.string().optional().describe('What to say.'),
      blocks: z.array(z.json()).optional().describe('What to say, in blocks.'),
      fields: z
        .record(z.string(), z.union([z.string(), z.number()]))
        .optional()
        .describe('Named values.'),
      to: z
        .union([z.string(), z.array(z.string()).min(1)])
        .optional()
        .describe('Who.'),
      urgency: z.enum(['low', 'high']).default('low').describe('How loud.'),
    })
    .refine(({ text, blocks }) => text !== undefined || blocks !== undefined, {
      error: 'expected "text" or "blocks": what to say',
    }),
  templates: { channel: plain, text: plain, blocks: { ...plain, data: true }, fields: plain, to: plain },
  defaults: { concurrency: 3, timeoutMs: 10_000 },
  defaultFields: (about) => {
    if (about === 'event') return [];
    return [{ text: about === 'digest' ? '{{ events.size }} events' : '{{ notice.detail }}' }];
  },
  laneKeys: ['channel'],
  placeKeys: ['to'],
  lane: ({ channel }) => channel ?? '',
  compose: (fields) => ({ message: { ...fields } }),
  connect: () => Promise.reject(new Error('not needed here')),
});

export const pagers: ReadonlyMap<string, AnyConnector> = new Map([[pager.name, pager]]);

export const env = { PAGER_TOKEN: 'pager-token-1' };

const sinks = 'sinks: { page: { connector: pager, token: "${PAGER_TOKEN}" } }';
const rules = 'rules: [ { name: all, when: {}, then: [ { sink: page, text: hello } ] } ]';

/** This text, completed to a small valid config by the sections that it lacks. JSON stays as it is. */
export function around(text: string): string {
  if (text.trimStart().startsWith('{')) return text;
  const has = (key: string) => new RegExp(`^${key}:`, 'm').test(text);
  return [text, ...(has('sinks') ? [] : [sinks]), ...(has('rules') ? [] : [rules]), ''].join('\n');
}

export function load(
  text: string,
  more: Record<string, string> = {},
  files: Record<string, string> = {},
): CheckedConfig {
  return parseConfig(around(text), 'config.yaml', {
    env: { ...env, ...more },
    connectors: pagers,
    readFile: (path) => {
      const content = files[path];
      if (content === undefined) throw Object.assign(new Error('no such file'), { code: 'ENOENT' });
      return content;
    },
  });
}

/** The ConfigError that `run` throws; fails if there is none. */
export function failure(run: () => unknown): ConfigError {
  try {
    run();
  } catch (error) {
    if (error instanceof ConfigErrorClass) return error;
    throw error;
  }
  throw new Error('expected the config to be refused');
}

/** All problems of a text as `line:column message`. */
export function problems(text: string, more: Record<string, string> = {}): string[] {
  return failure(() => load(text, more)).problems.map(shortly);
}

export function warnings(
  text: string,
  more: Record<string, string> = {},
  files: Record<string, string> = {},
): string[] {
  return load(text, more, files).warnings.map(shortly);
}

const shortly = ({ line, column, message }: Problem): string => `${line}:${column} ${message}`;
