import { HttpTool, tooMany } from './http-tool.ts';
import type { ToolAnswer, ToolRequest } from './http-tool.ts';
import { methods } from './slack/methods.ts';
import { SlackRefusal } from './slack/refusal.ts';
import { Workspace } from './slack/workspace.ts';
import type { ChannelOptions, Person, PostRate, PostedMessage } from './slack/workspace.ts';

export type { PostedMessage } from './slack/workspace.ts';

export interface SlackOptions {
  /** A name stands for a public channel with the bot in it. Default: #general and #hiring. */
  readonly channels?: readonly (string | ChannelOptions)[];
  readonly scopes?: readonly string[];
  readonly token?: string;
  /** The rate of each channel, enforced with 429 and Retry-After. Default: no limit. */
  readonly rate?: PostRate;
  /** The people that the app can write to directly. */
  readonly people?: readonly Person[];
  /** Whether each method is limited to its tier's calls a minute. Default: yes. */
  readonly tiers?: boolean;
  /** The app is distributed outside of the Marketplace: history has 15 messages a page, one page a minute. */
  readonly limited?: boolean;
  /** The token is one of an organization: channels are posted to by id. */
  readonly orgWide?: boolean;
  /** Whether the app has the Messages Tab, without which it can write to nobody directly. Default: yes. */
  readonly messagesTab?: boolean;
  /** How many items a page of a list holds at most, whatever limit is asked for. */
  readonly maxPageSize?: number;
}

/** The scopes that the README's manifest asks for. */
const allScopes = [
  'chat:write',
  'chat:write.customize',
  'channels:read',
  'channels:history',
  'groups:read',
  'groups:history',
  'im:history',
  'im:write',
  'users:read',
  'users:read.email',
];

export type SlackSandbox = Awaited<ReturnType<typeof startSlack>>;

/** A Slack workspace on loopback that speaks the Web API. Calls for faults are method names, as `chat.postMessage`. */
export async function startSlack(options: SlackOptions = {}) {
  const scopes = options.scopes ?? allScopes;
  // It "must be requested at the same time as users:read": https://docs.slack.dev/reference/scopes/users.read.email
  if (scopes.includes('users:read.email') && !scopes.includes('users:read'))
    throw new Error('no app is installed with users:read.email and without users:read');
  const workspace = new Workspace({
    channels: options.channels ?? ['general', 'hiring'],
    scopes,
    token: options.token ?? 'xoxb-sandbox-token',
    people: options.people ?? [],
    rate: options.rate ?? null,
    tiers: options.tiers ?? true,
    limited: options.limited ?? false,
    orgWide: options.orgWide ?? false,
    messagesTab: options.messagesTab ?? true,
    maxPageSize: options.maxPageSize ?? 1000,
  });
  const tool = new HttpTool({
    nameOf: ({ url }) => url.pathname.replace(/^\/api\//, ''),
    answer: (request) => answer(workspace, request),
    tooMany: ratelimited,
  });
  await tool.start();
  return {
    /** The sink's `apiUrl`. */
    url: `http://${tool.authority}/api/`,
    token: workspace.token,
    ...tool.controls,
    /** Everything that was posted, in order. */
    messages: workspace.messages as readonly PostedMessage[],
    rename: (from: string, to: string) => workspace.rename(from, to),
    archive: (channel: string) => workspace.archive(channel),
    /** Deletes a message that nobody has answered. */
    remove: (ts: string) => workspace.remove(ts),
    /** Locks a message: the workspace's settings let nobody edit it any more. */
    lock: (ts: string) => workspace.locked.add(ts),
    /** Nobody may answer a message any more; each try is refused with this code. */
    closeThread: (ts: string, refusal: string) => workspace.closedThreads.set(ts, refusal),
    /** The addresses of images that Slack cannot load. */
    unloadable: workspace.unloadable,
  };
}

function answer(workspace: Workspace, request: ToolRequest): ToolAnswer {
  const name = request.url.pathname.replace(/^\/api\//, '');
  const method = methods.get(name);
  const headers = { 'x-oauth-scopes': workspace.scopes.join(',') };
  try {
    if (!method) throw new SlackRefusal('unknown_method');
    const args = argumentsOf(request);
    const token = request.headers.authorization?.replace(/^Bearer /, '') ?? args['token'];
    if (token === undefined) throw new SlackRefusal('not_authed');
    if (token !== workspace.token) throw new SlackRefusal('invalid_auth');
    workspace.demandTier(name);
    return { status: 200, headers, body: { ok: true, ...method(workspace, args) } };
  } catch (error) {
    if (!(error instanceof SlackRefusal)) throw error;
    if (error.retryAfterS !== undefined) return tooMany(ratelimited, error.retryAfterS);
    return { status: 200, headers, body: { ok: false, error: error.code, ...error.extra } };
  }
}

const ratelimited = { ok: false, error: 'ratelimited' };

/** The arguments of a call, as a form has them: everything nested is JSON. Slack takes a JSON body, too. */
function argumentsOf({ headers, body }: ToolRequest): { [name: string]: string } {
  if (!headers['content-type']?.startsWith('application/json')) {
    return Object.fromEntries(new URLSearchParams(body));
  }
  const args = Object.entries(JSON.parse(body) as { [name: string]: unknown });
  return Object.fromEntries(
    args.map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]),
  );
}

/** The text that people see of mrkdwn: references resolved, entities decoded. */
export function shownText(mrkdwn: string): string {
  return mrkdwn
    .replace(
      /<(!channel|!here|!everyone|@\w+|#\w+)[^>]*>/g,
      (_, name: string) => `@${name.replace(/^\W/, '')}`,
    )
    .replace(/<([^>|]+)\|?([^>]*)>/g, (_, link: string, label: string) => label || link)
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');
}
