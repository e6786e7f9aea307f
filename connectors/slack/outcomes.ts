import { askAgain, rejected, retry, sinkWide, unansweredOutcome, unknown } from '../../src/connector.ts';
import type { Reason, Rejected, Retry, Unknown } from '../../src/model/outcomes.ts';
import { type Failure, isPerson } from './client.ts';

const slack = {
  name: 'Slack',
  item: 'message',
  foreignAdvice: 'or more than 10 MB. Check apiUrl and any proxy on the way.',
};

/** The outcome of an attempt whose call failed. */
export function outcomeOf(failure: Failure, channel: string): Retry | Rejected | Unknown {
  if (failure.kind === 'http') return outcomeOfStatus(failure.status, failure.retryAfterMs);
  if (failure.kind !== 'refused') return unansweredOutcome(failure, slack);
  const { error, data } = failure;
  const isNobody = error === 'channel_not_found' && isPerson(channel);
  const known = isNobody ? nobody : isAboutAnImage(failure) ? imageNotLoaded : errorMeanings.get(error);
  const { means, reason, what, advice } = known ?? otherError;
  const { needed, provided, response_metadata } = data;
  const scopes = needed ? [`needed: ${needed}`, `granted: ${provided ?? ''}`] : [];
  const said = [...scopes, ...(response_metadata?.messages ?? [])];
  const extra = said.length === 0 ? '' : `: ${said.join('; ').replace(/\s+/g, ' ').slice(0, 500)}`;
  const detail = `Slack refused it: ${what.replace('{channel}', () => channel)} (${error}${extra}).`;
  if (means === 'perhaps') return unknown(reason, detail);
  if (means === 'never') return rejected(reason, detail, advice);
  return means === 'sink' ? sinkWide(reason, `${detail} ${advice}`) : retry(reason, `${detail} ${advice}`);
}

/** A search that was cut off by a rate limit begins again after a minute: it takes several calls, whose limits are for a minute. */
const searchedAgainMs = 60_000;

/** The outcome of a failed call that only asks. */
export function findFailure(failure: Failure, channel: string): Retry {
  const again = askAgain(outcomeOf(failure, channel));
  if (again.reason !== 'rate_limited') return again;
  const detail = 'Slack lets nobody look for an earlier message at the moment: there were too many calls.';
  return retry(again.reason, detail, Math.max(again.retryAfterMs ?? 0, searchedAgainMs));
}

function outcomeOfStatus(status: number, retryAfterMs: number | null): Retry | Rejected | Unknown {
  if (status === 429) {
    const tooMany = 'Slack takes no more messages for the moment';
    // Of a channel or a method, Slack names the time. Of a workspace on a free plan it does not (slack-go/slack#1383).
    return retryAfterMs === null
      ? sinkWide('rate_limited', `${tooMany}, and does not say for how long. ${freePlanAdvice}`)
      : retry('rate_limited', `${tooMany}.`, retryAfterMs);
  }
  const detail = `Slack answered with HTTP status ${status}.`;
  // A proxy says 503, or Envoy 408, also where Slack took the message and its answer was lost.
  if (status >= 500 || status === 408)
    return unknown('server', `Slack, or something on the way to it, is out of order. ${detail}`);
  if (status === 425) return sinkWide('server', detail);
  if (status === 413) return rejected('invalid', detail, 'Make the message shorter, then replay.');
  // Slack itself never answers with these: the address is wrong, or a proxy answers instead, with 3xx perhaps afterwards.
  const elsewhere = `${detail} Check apiUrl and any proxy on the way.`;
  if (status < 400) return unknown('not_found', elsewhere);
  if (status === 401 || status === 403 || status === 407) return sinkWide('auth', elsewhere);
  return sinkWide(status === 404 || status === 410 ? 'not_found' : 'invalid', elsewhere);
}

/**
 * What an error code of Slack's means for a delivery. `again`: the same message may go later. `sink`: the fault is
 * the token's, the app's or the workspace's, so deliveries wait until it is fixed. `never`: the fault is this message's
 * or its channel's. `perhaps`: Slack says that part of the call may have been carried out.
 */
interface ErrorMeaning {
  readonly means: 'again' | 'sink' | 'never' | 'perhaps';
  readonly reason: Reason;
  /** `{channel}` stands for the message's channel. */
  readonly what: string;
  readonly advice: string;
}

const appAdvice =
  "Look at the app's settings at api.slack.com/apps, or ask an administrator of the workspace. Messages wait until then.";
const newToken = "Put the app's current bot token (xoxb-…) into the sink's token.";
/** The advice about token rotation, which nobody can turn off again for an app that has it. */
export const withoutRotation =
  "Slack turns token rotation off for no app: make a new app without it, from README's manifest, and put its bot token (xoxb-…) into the sink's token.";
const later = 'Nothing to do: it will be tried again.';
const freePlanAdvice =
  'It will be tried again. If that goes on, the workspace is probably on a free plan, which limits messages: ask its administrator.';
const admin = 'Ask an administrator of the workspace to allow it, or choose another channel, then replay.';
const bot = (what: string): ErrorMeaning => ({ means: 'sink', reason: 'auth', what, advice: newToken });
const app = (what: string): ErrorMeaning => ({ means: 'sink', reason: 'auth', what, advice: appAdvice });
const wait = (what: string): ErrorMeaning => ({ means: 'sink', reason: 'server', what, advice: later });
const limited = (what: string): ErrorMeaning => ({
  means: 'again',
  reason: 'rate_limited',
  what,
  advice: later,
});
const forbidden = (what: string): ErrorMeaning => ({ means: 'never', reason: 'auth', what, advice: admin });
const malformed = (what: string, advice: string): ErrorMeaning => ({
  means: 'never',
  reason: 'invalid',
  what,
  advice,
});
const perhaps = (what: string): ErrorMeaning => ({ means: 'perhaps', reason: 'server', what, advice: later });

const mangled: ErrorMeaning = {
  means: 'sink',
  reason: 'invalid',
  what: 'the call came in another form than it was sent',
  advice: 'Check apiUrl and any proxy on the way. Messages wait until then.',
};

const tooLong = 'Make the text or the blocks shorter, then replay.';
const blocksAdvice = "Try the blocks in Slack's Block Kit Builder, fix them in the config, then replay.";

const imageNotLoaded: ErrorMeaning = {
  means: 'again',
  reason: 'server',
  what: 'it could not load an image of the message',
  advice: 'Nothing to do: it will be tried again, and go without images where that does not help.',
};

/**
 * Whether Slack, which loads the images of a message before it takes it, could not: because of who has the image, or for no reason
 * to be seen (slackapi/python-slack-sdk#1782).
 */
export const isAboutAnImage = (failure: Failure): boolean =>
  failure.kind === 'refused' &&
  failure.error === 'invalid_blocks' &&
  (failure.data.response_metadata?.messages ?? []).some((words) =>
    words.includes('downloading image failed'),
  );

const nobody: ErrorMeaning = {
  means: 'never',
  reason: 'not_found',
  what: 'nobody that the app can write to is {channel}',
  advice: "Check the address or the person's id, then replay.",
};

/**
 * By error code, as the references of chat.postMessage, chat.update, users.lookupByEmail and conversations.open list them, and those
 * that are common to all methods.
 */
const byCode: { readonly [error: string]: ErrorMeaning } = {
  channel_not_found: {
    means: 'never',
    reason: 'not_found',
    what: 'there is no channel {channel} that the bot can see',
    advice: 'Check its name; if it is private, invite the bot there (/invite), then replay.',
  },
  not_in_channel: {
    means: 'never',
    reason: 'auth',
    what: 'the bot is not in {channel}',
    advice: 'Invite it: type /invite and the name of the app in that channel, then replay.',
  },
  is_archived: {
    means: 'never',
    reason: 'not_found',
    what: 'the channel {channel} is archived',
    advice: 'Unarchive it or name another channel in the config, then replay.',
  },

  invalid_auth: {
    ...bot('the token is not valid, or not from this address'),
    advice: `${newToken} If the app's settings restrict its token to IP addresses, add this machine's there.`,
  },
  not_authed: bot('the token is missing'),
  token_revoked: bot('the token was revoked'),
  token_expired: {
    ...bot('the token has expired: the app has token rotation, by which a token ends after 12 hours'),
    advice: withoutRotation,
  },
  account_inactive: bot('the token belongs to a deleted or deactivated app or user'),
  not_allowed_token_type: bot('this kind of token may not post; a bot token (xoxb-…) is needed'),
  missing_scope: {
    means: 'sink',
    reason: 'auth',
    what: 'the app lacks a scope',
    advice: 'Add the scope under OAuth & Permissions in the settings of the app, and install the app again.',
  },
  team_access_not_granted: app('the app has no access to this workspace'),
  access_denied: app('the app has no access'),
  accesslimited: app('the workspace takes no calls from this network'),
  app_access_restricted: app('the workspace restricts the app'),
  two_factor_setup_required: app('two-factor authentication has to be set up first'),
  enterprise_is_restricted: app('the organization does not allow this call'),
  is_bot: app('a legacy bot may not call this'),
  method_deprecated: app('this method is gone; a newer version of the connector is needed'),
  deprecated_endpoint: app('this method is gone; a newer version of the connector is needed'),
  unknown_method: app('there is no such method here; apiUrl may be wrong'),
  team_not_found: {
    means: 'never',
    reason: 'invalid',
    what: 'the token is one of an organization, with which {channel} has to be an id',
    advice:
      "Put the channel's id into the config, or the workspace's id into the sink's teamId, then replay.",
  },

  metadata_must_be_sent_from_app: bot(
    'this kind of token may not mark messages with metadata; a bot token (xoxb-…) is needed',
  ),
  invalid_metadata_format: app('it does not take the metadata that each message has'),
  invalid_metadata_schema: app('the app has another schema for the metadata that each message has'),
  invalid_arg_name: mangled,
  invalid_array_arg: mangled,
  invalid_charset: mangled,
  invalid_form_data: mangled,
  invalid_post_type: mangled,
  missing_post_type: mangled,

  no_permission: forbidden('the app may not post in {channel}; is it a member?'),
  ekm_access_denied: forbidden('administrators have suspended posting in {channel}'),
  channel_is_limited_access: forbidden('the app has no access to {channel}'),
  users_not_found: nobody,
  user_not_found: nobody,
  invalid_user_combination: { ...nobody, what: 'the app shares no channel with {channel}' },
  user_disabled: { ...nobody, what: '{channel} is deactivated' },
  user_not_visible: { ...nobody, what: 'the app may not see {channel}' },
  method_not_supported_for_channel_type: malformed(
    'this cannot be done in {channel}',
    'Choose another channel, then replay.',
  ),

  ratelimited: limited('too many calls'),
  rate_limited: limited('too many messages'),
  message_limit_exceeded: {
    means: 'sink',
    reason: 'rate_limited',
    what: 'the workspace has sent too many messages',
    advice: freePlanAdvice,
  },

  service_unavailable: perhaps('it is not available for the moment'),
  org_login_required: wait('the workspace is being moved'),
  team_added_to_org: wait('the workspace is being moved'),
  external_channel_migrating: { ...wait('the channel {channel} is being moved'), means: 'again' },
  request_timeout: {
    means: 'again',
    reason: 'network',
    what: 'the message came in only in part',
    advice: later,
  },
  internal_error: perhaps('it had a fault of its own'),
  fatal_error: perhaps('it had a fault of its own'),
  update_failed: perhaps('it had a fault of its own'),

  restricted_action: forbidden('posting is restricted in {channel}'),
  restricted_action_read_only_channel: forbidden('{channel} is read-only'),
  restricted_action_thread_only_channel: forbidden('{channel} takes only answers in threads'),
  messages_tab_disabled: {
    ...forbidden('the app has no Messages Tab, so it cannot write to {channel}'),
    advice:
      "Turn the Messages Tab on under App Home in the app's settings at api.slack.com/apps, then replay. Channels do not need it.",
  },

  no_text: malformed('the message is empty', 'Give the action a text, then replay.'),
  msg_too_long: malformed('the message is too long', tooLong),
  msg_blocks_too_long: malformed('the blocks are too long', tooLong),
  too_many_attachments: malformed('the message has too many parts', tooLong),
  metadata_too_large: malformed('the metadata is too large', tooLong),
  invalid_blocks: malformed('it does not take these blocks', blocksAdvice),
  invalid_attachments: malformed('it does not take these blocks', blocksAdvice),
  invalid_blocks_format: malformed('it does not take these blocks', blocksAdvice),
};

/** A map, since the codes come from outside: one may be `constructor`. */
export const errorMeanings: ReadonlyMap<string, ErrorMeaning> = new Map(Object.entries(byCode));

/** Errors that may be about this one method: an app that may not look people up, or read, may post all the same. */
export const ofOneMethod: ReadonlySet<string> = new Set([
  'missing_scope',
  'not_allowed_token_type',
  'enterprise_is_restricted',
  'access_denied',
]);

/** The meaning of a code that the table lacks: Slack did not do what was asked, and would not do it a second time. */
const otherError: ErrorMeaning = malformed(
  'it does not take this message',
  "Look the code up in Slack's reference of chat.postMessage, fix the config, then replay.",
);
