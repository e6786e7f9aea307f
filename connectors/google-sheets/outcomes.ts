import type { sheets_v4 } from 'googleapis/build/src/apis/sheets/index.js';
import {
  askAgain,
  perhapsSinkWide,
  rejected,
  retry,
  sinkWide,
  unansweredOutcome,
  unknown,
  withoutEffect,
} from '../../src/connector.ts';
import type { Outcome, Rejected, Retry, Unknown } from '../../src/model/outcomes.ts';
import type { ApiError, Failure } from './client.ts';
import type { RowRequest, WrittenRow } from './message.ts';

/** The names in the words about a failure. */
export interface Subject {
  /** The service account that the sheet has to be shared with. */
  readonly account: string;
}

export function columnsInWords(names: readonly string[]): string {
  const list = names.map((name) => (name === '' ? 'one without a header' : name)).join(', ');
  return names.length === 1 ? `the column ${list}` : `the columns ${list}`;
}

export const notReadBack =
  'It could not be read back at once: if people edited the sheet at that moment, look at its row and at those beside it.';

/** Says that a row's tab has another name now. */
export const renamedTo = (title: string): string =>
  `The tab was renamed to ${title} while the row was written.`;

const google = {
  name: 'Google',
  item: 'row',
  foreignAdvice: 'or more than 50 MB. Check apiUrl and any proxy on the way, and how large the tab is.',
};

/** The delay where a person has to put the tab right. Until then its rows wait together, as one call. */
const personDelayMs = 5 * 60_000;

/** The outcome of a write that failed. */
function outcomeOf(failure: Failure, { account }: Subject): Retry | Rejected | Unknown {
  if (failure.kind === 'unusable') return sinkWide('auth', failure.words);
  if (failure.kind === 'header') return perhapsSinkWide('invalid', failure.words, personDelayMs);
  if (failure.kind === 'token') return ofToken(failure, account);
  if (failure.kind !== 'http') return unansweredOutcome(failure, google);
  const { status, error, retryAfterMs } = failure;
  const line = error.message.replace(/\s+/g, ' ').trim().slice(0, 300);
  const said = line === '' ? '' : ` It said: ${/[.!?]$/.test(line) ? line : `${line}.`}`;
  if (status === 429 || /RATE_?LIMIT|QUOTA|LimitExceeded/i.test(error.reason)) {
    const usedUp = `The quota of Google Sheets is used up for the moment.${said}`;
    return sinkWide('rate_limited', usedUp, retryAfterMs);
  }
  const detail = `Google Sheets answered with HTTP status ${status}.${said}`;
  // A proxy may say so after Google has carried the call out.
  if (status >= 500 || status === 408)
    return unknown('server', `Google Sheets, or something on the way to it, is out of order. ${detail}`);
  const elsewhere = `${detail} Check apiUrl and any proxy on the way.`;
  if (status < 400) return unknown('not_found', elsewhere);
  const isAccess = status === 401 || status === 403;
  const isGoogles = error.status !== '' || line !== '';
  if (!isGoogles && !tooLarge.has(status))
    return sinkWide(isAccess ? 'auth' : status === 404 ? 'not_found' : 'invalid', elsewhere);
  if (status === 400) return ofInvalid(detail, error, account);
  if (isAccess) {
    const reason = scopeWords.test(line) ? scopeReason : error.reason;
    const advice = accessAdvice.get(reason || String(status)) ?? ofProject;
    return sinkWide('auth', `${detail} ${advice.replace('{account}', () => account)}`);
  }
  if (status === 404)
    return sinkWide(
      'not_found',
      `${detail} Check spreadsheetId in the sink, or whether it was deleted for good.`,
    );
  // A conflict is with somebody else's edit.
  if (status === 409) return sinkWide('server', detail, retryAfterMs);
  // Google itself answers with no other status, but where a call is too large.
  if (!tooLarge.has(status)) return sinkWide('invalid', elsewhere);
  return rejected(
    'invalid',
    detail,
    'Look the answer up in the reference of the Google Sheets API, fix the config, then replay.',
  );
}

const notEnabled = 'Enable the Google Sheets API in the Google Cloud project of the service account.';

/** Some answers have the words alone. */
const scopeWords = /insufficient authentication scopes/i;
const scopeReason = 'ACCESS_TOKEN_SCOPE_INSUFFICIENT';

/** By the reason that Google names, or the status: where only the spreadsheet is not shared, it names none. */
const accessAdvice: ReadonlyMap<string, string> = new Map([
  ['403', 'Share the spreadsheet with {account} as an editor.'],
  ['SERVICE_DISABLED', notEnabled],
  ['accessNotConfigured', notEnabled],
  [
    scopeReason,
    'The login of {account} may not use Google Sheets: give it the scope https://www.googleapis.com/auth/spreadsheets, for a virtual machine in its settings, for `gcloud auth application-default login` by --scopes.',
  ],
]);

/** The advice for a reason that is not in the list. */
const ofProject =
  'That is about the login of {account} or its Google Cloud project, and for whoever administers these.';

const tooLarge = new Set([413, 414, 431]);

/** The outcome of a failed call that writes no row, so that none is there. */
export const nothingWritten = (failure: Failure, subject: Subject): Retry | Rejected =>
  withoutEffect(outcomeOf(failure, subject));

/** The outcome of a failed call that only reads, and so can always be made again. */
export const failedRead = (failure: Failure, subject: Subject): Retry =>
  askAgain(outcomeOf(failure, subject));

function ofToken(failure: Failure & { kind: 'token' }, account: string): Retry {
  const { host, status, words, retryAfterMs } = failure;
  const said = words === '' ? `${host} answered with HTTP status ${status} and no token` : words;
  const detail = `Google gave no access token for ${account}: ${said.replace(/\.$/, '')}.`;
  if (status === 429) return sinkWide('rate_limited', detail, retryAfterMs);
  if (status >= 500 || status === 408)
    return sinkWide(status === 408 ? 'timeout' : 'server', detail, retryAfterMs);
  const advice =
    status < 400
      ? 'That is no token endpoint, and redirects are not followed: check its address in the credentials, and any proxy on the way.'
      : "Check that the key or the other credentials still hold, that the account is enabled, and this machine's clock.";
  return sinkWide('auth', `${detail} ${advice}`);
}

function ofInvalid(detail: string, { status, message }: ApiError, account: string): Retry | Rejected {
  // An Excel file that lies in Drive: tidyverse/googlesheets4#275, theoephraim/node-google-spreadsheet#651.
  if (status === 'FAILED_PRECONDITION')
    return sinkWide(
      'invalid',
      `${detail} The file is probably an Excel file, which the API cannot write to: open it in Google Sheets, choose File > Save as Google Sheets, and put the id of the new file into spreadsheetId.`,
    );
  if (missingTab.test(message))
    return retry('not_found', `${detail} The tab was renamed or deleted meanwhile.`);
  if (/limit of \d+ cells/i.test(message))
    return sinkWide('invalid', `${detail} Delete old rows, or put a new spreadsheetId into the sink.`);
  if (protectedWords.test(message))
    return perhapsSinkWide('auth', `${detail} ${unlock(account)} The rows go on then.`, personDelayMs);
  if (changedMeanwhile.test(message))
    return retry('not_found', `${detail} Somebody changed the sheet meanwhile.`);
  return rejected('invalid', detail, 'Check the tab and the row of the action, then replay.');
}

/**
 * The API's words where a row, a column or a tab is gone, or people made a table of it just now. What it refuses to append is
 * a table's growth, which has no value of a row.
 */
const changedMeanwhile =
  /No grid with id|grid size|grid limits|is after last (row|column)|beyond the last requested|number format.*typed column|\.appendCells:/;

/** The API's words where a range names a tab that is not there. */
const missingTab = /^Unable to parse range/;

const protectedWords = /protected/i;

/** Whether Google refused the call itself, in these words. */
export const says = (failure: Failure, words: RegExp): boolean =>
  failure.kind === 'http' && failure.status === 400 && words.test(failure.error.message);

export const isRefusal = (failure: Failure): boolean => says(failure, /^/);

/** Whether the sheet has changed since it was last read: a tab, a row or a column is gone. */
export const isOutdated = (failure: Failure): boolean =>
  says(failure, /exceeds grid limits/) || says(failure, missingTab);

/** Whether the account may edit the spreadsheet, but not these cells of it. */
const isProtected = (failure: Failure): boolean => says(failure, protectedWords);

/** The advice about a protection. */
export const unlock = (account: string): string =>
  `Let ${account} edit the protected sheets and ranges of the tab (menu Data, "Protect sheets and ranges"), or remove the protection.`;

/** A delivery, and the outcome of its attempt. */
export type Result = readonly [RowRequest, Outcome];

/** A part of a call, with the deliveries that it is for. */
export interface Write {
  readonly request: sheets_v4.Schema$Request;
  readonly requests: readonly RowRequest[];
  /** It adds rows. */
  readonly isNew: boolean;
}

/**
 * The results of deliveries whose call was refused or failed. Google refuses a whole call for one part, and names the part:
 * only its deliveries are given up.
 */
export function refusedRows(
  subject: Subject,
  failure: Failure,
  rows: readonly WrittenRow[],
  writes: readonly Write[],
): Result[] {
  const outcome = outcomeOf(failure, subject);
  const all = rows.flatMap(({ requests }) => requests);
  if (outcome.outcome === 'unknown') return all.map((request) => [request, outcome]);
  const message = failure.kind === 'http' ? failure.error.message : '';
  const index = Number(/^Invalid requests\[(\d+)\]/.exec(message)?.[1] ?? NaN);
  const { isNew = false, requests: named = [] } = writes[index] ?? {};
  const blamed = new Set(named);
  if (isProtected(failure)) {
    return waitingRows(all, outcome, (one) => (blamed.has(one) ? (isNew ? 'new' : 'row') : 'tab'));
  }
  if (outcome.outcome !== 'rejected' || blamed.size === 0) return sharedOutcome(all, outcome);
  const detail = `${outcome.detail} It was said of another row of the same call, so this one goes again.`;
  return all.map((request) => [request, blamed.has(request) ? outcome : retry(outcome.reason, detail, 0)]);
}

/** The results of deliveries whose call failed before any row was written. */
export function unwrittenRows(subject: Subject, failure: Failure, requests: readonly RowRequest[]): Result[] {
  const outcome = nothingWritten(failure, subject);
  if (failure.kind === 'header') {
    const isThere = (request: RowRequest) => tabOf(request) === failure.tab.toLowerCase();
    return waitingRows(requests, outcome, (one) => (isThere(one) ? 'new' : 'tab'));
  }
  if (isProtected(failure)) return waitingRows(requests, outcome, () => 'tab');
  return sharedOutcome(requests, outcome);
}

/**
 * The results of deliveries whose call was refused for something in a tab that a person has to put right, such as a
 * protection. The rows of that tab wait, in calls of their own; those of other tabs go on at once. The rows that Google named
 * wait apart from the rest of their tab, as the protection may be of them alone: rows to add (`new`), or one to update
 * (`row`).
 */
function waitingRows(
  requests: readonly RowRequest[],
  outcome: Retry | Rejected,
  kindOf: (request: RowRequest) => 'tab' | 'new' | 'row',
): Result[] {
  if (outcome.outcome === 'rejected') return sharedOutcome(requests, outcome);
  const named = requests.filter((request) => kindOf(request) !== 'tab');
  const tabs = new Set((named.length > 0 ? named : requests).map(tabOf));
  // Which of several tabs it was about shows when each goes by itself.
  const isKnown = tabs.size === 1;
  return requests.map((request) => {
    const detail = `${outcome.detail} It may have been said of another tab, so this row goes again.`;
    const again = isKnown && tabs.has(tabOf(request)) ? outcome : retry(outcome.reason, detail, 0);
    return [request, { ...again, progress: { group: `${kindOf(request)} ${tabOf(request)}` } }];
  });
}

const tabOf = ({ message }: RowRequest): string => message.tab.toLowerCase();

/**
 * The results of deliveries whose call failed. Where Google refuses all rows for the fault of one and does not name it, each
 * half goes in a call of its own next time, and so on down to a single row, for which a refusal is final. That takes a
 * handful of calls and harms no good row. It helps where a call is too large, too.
 */
function sharedOutcome(requests: readonly RowRequest[], outcome: Outcome): Result[] {
  if (outcome.outcome !== 'rejected' || requests.length === 1) {
    return requests.map((request) => [request, outcome]);
  }
  const middle = Math.ceil(requests.length / 2);
  return [requests.slice(0, middle), requests.slice(middle)].flatMap((half) => {
    const detail = `${outcome.detail} It was said of ${requests.length} rows at once, so they go in smaller calls next.`;
    // The same delay for all of them, so that the halves stay together.
    const smaller = retry(outcome.reason, detail, 0);
    return half.map((request): Result => [request, { ...smaller, progress: { group: half[0]!.deliveryId } }]);
  });
}
