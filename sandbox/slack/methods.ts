import { checkBlocks, checkImages } from './blocks.ts';
import { page } from './paging.ts';
import { SlackRefusal } from './refusal.ts';
import type { Channel, PostedMessage, Workspace } from './workspace.ts';

/** The arguments of a call. Everything is text, and what is nested is JSON in a text. */
type Args = { readonly [name: string]: string | undefined };
type Method = (workspace: Workspace, args: Args) => { [key: string]: unknown };

/** https://docs.slack.dev/reference/methods/chat.postMessage#truncating: a longer text is cut off. */
const maxTextLength = 40_000;
/** A longer text becomes several messages, the metadata with each. */
const maxPartLength = 4000;
/** The reference of chat.update says characters. Measured, with letters of several bytes: https://github.com/openclaw/openclaw/pull/115027. */
const maxEditedBytes = 4000;

/** The methods that the sandbox has, as Slack's reference describes them. */
const byName: { readonly [name: string]: Method } = {
  'auth.test': () => ({
    url: 'https://sandbox.slack.com/',
    team: 'Sandbox',
    user: 'candidate_connector',
    team_id: 'T0SANDBOX',
    user_id: 'U0SANDBOX',
    bot_id: 'B0SANDBOX',
    is_enterprise_install: false,
  }),

  'chat.postMessage': (workspace, args) => {
    workspace.demandScope('chat:write');
    const channel = workspace.channel(args['channel'], 'id or name');
    demandMayPost(workspace, channel);
    workspace.demandOpenThread(args['thread_ts']);
    workspace.demandRate(channel.id);
    const message = messageOf(workspace, args, channel);
    const [posted] = partsOf(message.text).map((text) => workspace.post({ ...message, text }));
    if (!posted) throw new Error('a message has one part at least');
    return {
      channel: channel.id,
      ts: posted.ts,
      message: { ...posted, type: 'message', subtype: 'bot_message' },
    };
  },

  // https://docs.slack.dev/reference/methods/chat.update
  'chat.update': (workspace, args) => {
    workspace.demandScope('chat:write');
    const channel = workspace.channel(args['channel'], 'id');
    const { text, blocks, metadata } = messageOf(workspace, args, channel, updateArguments);
    if (Buffer.byteLength(text) > maxEditedBytes) throw new SlackRefusal('msg_too_long');
    const edited = workspace.edit(channel, args['ts'], {
      text,
      blocks: blocks ?? [],
      ...(metadata && { metadata }),
    });
    return { channel: channel.id, ts: edited.ts, text, message: { ...edited, type: 'message' } };
  },

  'conversations.history': (workspace, args) => {
    const channel = readableChannel(workspace, args);
    const all = workspace.messages.filter(
      (message) =>
        message.channel === channel.id && message.thread_ts === undefined && isSince(message, args),
    );
    // Newest first. With `oldest` alone the pages begin at that end, each of them newest first:
    // https://docs.slack.dev/reference/methods/conversations.history
    const fromOldest = args['oldest'] !== undefined && args['latest'] === undefined;
    const { items, rest } = page(fromOldest ? all : all.toReversed(), args, 100, workspace.maxHistoryPage);
    const messages = fromOldest ? items.toReversed() : items;
    return { messages: messages.map((message) => shown(message, args)), ...rest };
  },

  'conversations.replies': (workspace, args) => {
    const channel = readableChannel(workspace, args);
    const isInThread = ({ ts, thread_ts }: PostedMessage) => ts === args['ts'] || thread_ts === args['ts'];
    const thread = workspace.messages.filter(
      (message) => message.channel === channel.id && isInThread(message),
    );
    if (thread.length === 0) throw new SlackRefusal('thread_not_found');
    const { items, rest } = page(
      thread.filter((message) => message.ts === args['ts'] || isSince(message, args)),
      args,
      1000,
      workspace.maxHistoryPage,
    );
    return { messages: items.map((message) => shown(message, args)), ...rest };
  },

  'conversations.info': (workspace, args) => {
    const channel = workspace.channel(args['channel'], 'id');
    workspace.demandScope(readScope(channel));
    return { channel };
  },

  'conversations.open': (workspace, args) => {
    workspace.demandScope('im:write');
    const user = workspace.people.find(({ id }) => id === args['users']);
    if (!user) throw new SlackRefusal('user_not_found');
    return { channel: { id: workspace.directMessages(user.id).id } };
  },

  'users.lookupByEmail': (workspace, args) => {
    workspace.demandScope('users:read.email');
    const user = workspace.people.find(({ email }) => email === args['email']?.toLowerCase());
    if (!user) throw new SlackRefusal('users_not_found');
    return { user: { id: user.id } };
  },

  'conversations.list': (workspace, args) =>
    channelPage(
      workspace,
      args,
      workspace.channels.filter((channel) => channel.is_member || !channel.is_private),
    ),

  /** The channels that the bot is in; the answer has no is_member. */
  'users.conversations': (workspace, args) => {
    const joined = workspace.channels.filter((channel) => channel.is_member);
    const { channels, ...rest } = channelPage(workspace, args, joined);
    return { channels: channels.map(({ is_member: _, ...channel }) => channel), ...rest };
  },
};

/**
 * Both methods' reference: `limit` is an integer under 1000. And with exclude_archived the archived ones are left out
 * after the page was cut, so that a page may be short, or empty, and have a next one.
 */
function channelPage(workspace: Workspace, args: Args, visible: readonly Channel[]) {
  const types = (args['types'] ?? 'public_channel').split(',');
  if (types.includes('public_channel')) workspace.demandScope('channels:read');
  if (types.includes('private_channel')) workspace.demandScope('groups:read');
  if (Number(args['limit'] ?? 100) > 999) throw new SlackRefusal('invalid_limit');
  // https://docs.slack.dev/reference/methods/conversations.list: an org-wide token has to say which workspace it means.
  if (workspace.orgWide && args['team_id'] === undefined) throw new SlackRefusal('missing_argument');
  const ofTypes = visible.filter(
    ({ is_private, is_im }) => !is_im && types.includes(is_private ? 'private_channel' : 'public_channel'),
  );
  const { items, rest } = page(ofTypes, args, 100, workspace.maxPageSize);
  const listed = items.filter(({ is_archived }) => !(is_archived && args['exclude_archived'] === 'true'));
  return { channels: listed, ...rest };
}

function demandMayPost(workspace: Workspace, channel: Channel): void {
  if (channel.is_archived) throw new SlackRefusal('is_archived');
  if (channel.is_im && !workspace.messagesTab) throw new SlackRefusal('messages_tab_disabled');
  const open = !channel.is_private && workspace.scopes.includes('chat:write.public');
  if (!channel.is_member && !open) throw new SlackRefusal('not_in_channel');
}

function readScope({ is_im, is_private }: Channel): string {
  if (is_im) return 'im:read';
  return is_private ? 'groups:read' : 'channels:read';
}

function readableChannel(workspace: Workspace, args: Args): Channel {
  const channel = workspace.channel(args['channel'], 'id');
  workspace.demandScope(readScope(channel).replace('read', 'history'));
  if (!channel.is_member) throw new SlackRefusal('not_in_channel');
  return channel;
}

export const methods: ReadonlyMap<string, Method> = new Map(Object.entries(byName));

/** The arguments of chat.postMessage. Slack ignores others; here they are refused, as they are mistakes of ours. */
const postArguments = new Set(
  (
    'token channel text blocks attachments markdown_text metadata thread_ts reply_broadcast username icon_emoji ' +
    'icon_url unfurl_links unfurl_media link_names mrkdwn parse'
  ).split(' '),
);

/** The arguments of chat.update, which takes no name, icon or thread: https://docs.slack.dev/reference/methods/chat.update */
const updateArguments = new Set(
  'token channel ts text blocks attachments markdown_text metadata link_names parse reply_broadcast file_ids as_user'.split(
    ' ',
  ),
);

function partsOf(text: string): string[] {
  const parts = text.slice(0, maxTextLength).match(new RegExp(`[^]{1,${maxPartLength}}`, 'g'));
  return parts ?? [''];
}

function messageOf(
  workspace: Workspace,
  args: Args,
  channel: Channel,
  known = postArguments,
): Omit<PostedMessage, 'ts'> {
  const unknown = Object.keys(args).filter((name) => !known.has(name));
  if (unknown.length > 0)
    throw new SlackRefusal('invalid_arguments', { response_metadata: { messages: unknown } });
  const text = args['text'] ?? '';
  const blocks = nested(args['blocks'], 'invalid_blocks_format') as readonly unknown[] | undefined;
  const metadata = nested(args['metadata'], 'invalid_metadata_format') as PostedMessage['metadata'];
  if (text.trim() === '' && !blocks?.length) throw new SlackRefusal('no_text');
  if (blocks) checkBlocks(blocks);
  checkImages(blocks, workspace.unloadable);
  if (metadata && !(metadata.event_type && metadata.event_payload)) {
    throw new SlackRefusal('invalid_metadata_format');
  }
  const thread_ts = workspace.has(channel, args['thread_ts']) ? args['thread_ts'] : undefined;
  // Without the scope these are ignored.
  const custom = workspace.scopes.includes('chat:write.customize') ? args : {};
  const { username, icon_emoji, icon_url } = custom;
  return {
    channel: channel.id,
    channelName: channel.name,
    text,
    ...(blocks && { blocks }),
    ...(metadata && { metadata }),
    ...(thread_ts && { thread_ts }),
    ...(username && { username }),
    ...((icon_emoji || icon_url) && {
      icons: { ...(icon_emoji && { emoji: icon_emoji }), ...(icon_url && { image_36: icon_url }) },
    }),
    ...(args['unfurl_links'] !== undefined && { unfurl_links: args['unfurl_links'] === 'true' }),
  };
}

function nested(value: string | undefined, fault: string): unknown {
  if (value === undefined) return undefined;
  try {
    return JSON.parse(value);
  } catch {
    throw new SlackRefusal(fault);
  }
}

function isSince({ ts }: PostedMessage, args: Args): boolean {
  return Number(ts) > Number(args['oldest'] ?? 0);
}

/** A message as history shows it: metadata only where it is asked for. */
function shown(message: PostedMessage, args: Args) {
  const { metadata, channel: _, channelName: __, ...rest } = message;
  const all = args['include_all_metadata'] === 'true';
  return { type: 'message', ...rest, ...(all && metadata && { metadata }) };
}
