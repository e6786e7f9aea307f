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
import { isMap } from '../../src/model.ts';
import type { Json, Outcome, Rejected, Retry, Unknown } from '../../src/model.ts';
import type { ApiError, Failure } from './client.ts';
import type { RowRequest, WrittenRow } from './message.ts';

/** What the words about a failure name. */
export interface Subject {
  /** The service account that the sheet has to be shared with. */
  readonly account: string;
}

/** What became of a written row; see compare. */
interface Found {
  readonly fixes: readonly unknown[];
  readonly isDeleted: boolean;
  readonly isUnclear: boolean;
  readonly lost: readonly string[];
  readonly missing: readonly string[];
  readonly gone: readonly string[];
}

/** What a delivery tells of its row, where somebody changed the sheet while it was written. */
export function notesOf({ fixes, isDeleted, isUnclear, lost, missing, gone }: Found): string[] {
  const said: [boolean, string][] = [
    [fixes.length > 0 || isDeleted, putRight],
    [
      lost.length > 0,
      `What stood in ${columnsInWords(lost)} of the row that it landed in is not known, and may be lost.`,
    ],
    [missing.length > 0, `Somebody renamed or removed ${columnsInWords(missing)} while the row was written.`],
    [
      gone.length > 0,
      `${gone.join(', ')}: gone since. Somebody deleted such a row, or this one was written over it.`,
    ],
    [lost.length > 0 || gone.length > 0, 'The version history of the sheet has it.'],
    [isUnclear, notReadBack],
  ];
  return said.flatMap(([isSo, text]) => (isSo ? [text] : []));
}

/** What a delivery tells of its values that are not there. */
export function notesOfAbsent(absent: readonly string[], merged: readonly string[]): string[] {
  const emptied = absent.filter((name) => !merged.includes(name));
  const said: [readonly string[], string][] = [
    [merged, 'was not kept, as the cell is merged with others. Unmerge them, and fill it in by hand.'],
    [emptied, 'is not there: somebody emptied the cell at that moment, or merged it.'],
  ];
  return said.flatMap(([names, words]) =>
    names.length > 0 ? [`What belongs in ${columnsInWords(names)} ${words}`] : [],
  );
}

const putRight =
  'Somebody changed the sheet while the row was written: it landed wrongly, and was put where it belongs. What it had written over was put back as far as it was known, a formula as its value.';

export function columnsInWords(names: readonly string[]): string {
  const list = names.map((name) => (name === '' ? 'one without a header' : name)).join(', ');
  return names.length === 1 ? `the column ${list}` : `the columns ${list}`;
}

export const notPutRight =
  'Somebody goes on changing the sheet, or it may not be edited there: look whether the row stands under its headers.';

export const notReadBack =
  'It could not be read back at once: if people edited the sheet at that moment, look at its row and at those beside it.';

export const goneSince =
  'The row was written, but is not there any more: somebody removed or changed it right after that.';

const google = {
  name: 'Google',
  item: 'row',
  foreignAdvice: 'or more than 50 MB. Check apiUrl and any proxy on the way, and how large the tab is.',
};

/** How a write that failed ends its attempt. */
function outcomeOf(failure: Failure, subject: Subject): Retry | Rejected | Unknown {
  if (failure.kind === 'token') return ofToken(failure, subject);
  if (failure.kind === 'unusable') return sinkWide('auth', failure.words);
  if (failure.kind === 'http') return ofStatus(failure, subject);
  if (failure.kind === 'header') return perhapsSinkWide('invalid', failure.words, personDelayMs);
  return unansweredOutcome(failure, google);
}

/** The same for a call that writes no row, so that it certainly is not there. */
export const nothingWritten = (failure: Failure, subject: Subject): Retry | Rejected =>
  withoutEffect(outcomeOf(failure, subject));

/** The same for a call that only reads: it can always be made again. */
export const failedRead = (failure: Failure, subject: Subject): Retry =>
  askAgain(outcomeOf(failure, subject));

function ofToken(
  { host, status, words, retryAfterMs }: Failure & { kind: 'token' },
  { account }: Subject,
): Retry {
  const said = words === '' ? `${host} answered with HTTP status ${status} and no token` : words;
  const detail = `Google gave no access token for ${account}: ${said.replace(/\.$/, '')}.`;
  if (status === 429) return sinkWide('rate_limited', detail, retryAfterMs);
  if (status >= 500 || status === 408)
    return sinkWide(status === 408 ? 'timeout' : 'server', detail, retryAfterMs);
  return sinkWide('auth', `${detail} ${status < 400 ? otherEndpoint : checkAccount}`);
}

const otherEndpoint =
  'That is no token endpoint, and redirects are not followed: check its address in the credentials, and any proxy on the way.';
const checkAccount =
  "Check that the key or the other credentials still hold, that the account is enabled, and this machine's clock.";

function ofStatus(
  { status, error, retryAfterMs }: Failure & { kind: 'http' },
  subject: Subject,
): Retry | Rejected | Unknown {
  const said = saidBy(error);
  if (status === 429 || /RATE_LIMIT|QUOTA/i.test(error.reason)) {
    const usedUp = `The quota of Google Sheets is used up for the moment.${said}`;
    return sinkWide('rate_limited', usedUp, retryAfterMs);
  }
  const detail = `Google Sheets answered with HTTP status ${status}.${said}`;
  // A proxy may say so after Google has carried the call out.
  if (status >= 500 || status === 408) return unknown('server', detail);
  if (status < 400) return unknown('not_found', `${detail} Check apiUrl and any proxy on the way.`);
  if (status === 400) return ofInvalid(detail, error, subject);
  if (status === 401 || status === 403) return sinkWide('auth', `${detail} ${accessAdvice(error, subject)}`);
  if (status === 404) return sinkWide('not_found', `${detail} Check spreadsheetId in the sink.`);
  // A conflict is with somebody else's edit.
  if (status === 409) return sinkWide('server', detail, retryAfterMs);
  return rejected(
    'invalid',
    detail,
    'Look the answer up in the reference of the Google Sheets API, fix the config, then replay.',
  );
}

/** A person has to put the tab right. Until then its rows wait together, as one call. */
const personDelayMs = 5 * 60_000;

function ofInvalid(detail: string, { status, message }: ApiError, { account }: Subject): Retry | Rejected {
  // An Excel file that lies in Drive: tidyverse/googlesheets4#275, theoephraim/node-google-spreadsheet#651.
  if (status === 'FAILED_PRECONDITION') return sinkWide('invalid', `${detail} ${noSheet}`);
  if (missingTab.test(message))
    return retry('not_found', `${detail} The tab was renamed or deleted meanwhile.`);
  if (movedAway.test(message)) return retry('not_found', `${detail} Somebody changed the sheet meanwhile.`);
  if (/limit of \d+ cells/i.test(message)) {
    return sinkWide('invalid', `${detail} Delete old rows, or put a new spreadsheetId into the sink.`);
  }
  if (protectedWords.test(message)) {
    return perhapsSinkWide('auth', `${detail} ${unlock(account)} The rows go on then.`, personDelayMs);
  }
  return rejected('invalid', detail, 'Check the tab and the row of the action, then replay.');
}

const noSheet =
  'The file is probably an Excel file, which the API cannot write to: open it in Google Sheets, choose File > Save as Google Sheets, and put the id of the new file into spreadsheetId.';

/** What a person does about a protection. */
export const unlock = (account: string): string =>
  `Let ${account} edit the protected sheets and ranges of the tab (menu Data, "Protect sheets and ranges"), or remove the protection.`;

/** How the API says that a row, a column or a tab that was there is gone. */
const movedAway = /No grid with id|grid size|grid limits|beyond the last requested/;

const protectedWords = /protected/i;

/** The account may edit the spreadsheet, and not these cells of it. */
const isProtected = (failure: Failure): boolean =>
  failure.kind === 'http' && failure.status === 400 && protectedWords.test(failure.error.message);

/** How the API says that a range names a tab that is not there. */
export const missingTab = /^Unable to parse range/;

function accessAdvice({ reason }: ApiError, { account }: Subject): string {
  if (reason === 'SERVICE_DISABLED')
    return 'Enable the Google Sheets API in the Google Cloud project of the service account.';
  if (reason === 'ACCESS_TOKEN_SCOPE_INSUFFICIENT')
    return `The login of ${account} may not use Google Sheets: give it the scope https://www.googleapis.com/auth/spreadsheets, for a virtual machine in its settings, for \`gcloud auth application-default login\` by --scopes.`;
  return `Share the spreadsheet with ${account} as an editor.`;
}

function saidBy({ message }: ApiError): string {
  const line = message.replace(/\s+/g, ' ').trim().slice(0, 300);
  return line === '' ? '' : ` It said: ${/[.!?]$/.test(line) ? line : `${line}.`}`;
}

/** A delivery and how its attempt ended. */
export type Result = readonly [RowRequest, Outcome];

/** A part of a call, with the deliveries that it is for. */
export interface Write {
  readonly request: sheets_v4.Schema$Request;
  readonly requests: readonly RowRequest[];
  /** It is about rows that are added. */
  readonly isNew: boolean;
}

/** What an attempt hands to the next one. */
interface Progress {
  /** The row, where it was written and has to be read back. */
  readonly written?: WrittenRow;
  /** Equal for rows that may share a call, after a refusal. */
  readonly group?: string;
}

export function progressOf({ progress }: RowRequest): Progress {
  return isMap(progress ?? undefined) ? (progress as Progress) : {};
}

export const asProgress = ({ requests: _, ...row }: WrittenRow): Json => ({ written: row });

/**
 * How deliveries end whose call was refused or failed. All of it is refused for one part, which Google names: only the
 * deliveries of that part are given up.
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
  const { isNew = false, requests: named = [] } = blamedBy(failure, writes) ?? {};
  const blamed = new Set(named);
  if (isProtected(failure)) {
    return waitingRows(all, outcome, (one) => (blamed.has(one) ? (isNew ? 'new' : 'row') : 'tab'));
  }
  if (outcome.outcome !== 'rejected' || blamed.size === 0) return sharedOutcome(all, outcome);
  const detail = `${outcome.detail} It was said of another row of the same call, so this one goes again.`;
  return all.map((request) => [request, blamed.has(request) ? outcome : retry(outcome.reason, detail, 0)]);
}

function blamedBy(failure: Failure, writes: readonly Write[]): Write | undefined {
  const message = failure.kind === 'http' ? failure.error.message : '';
  return writes[Number(/^Invalid requests\[(\d+)\]/.exec(message)?.[1] ?? NaN)];
}

/** The same for a call that came before any row was written. */
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
 * How deliveries end whose call was refused for something in a tab that a person has to put right, such as a protection.
 * Those of its tab wait, in calls of their own, and those of other tabs go on at once. What was named waits apart from the rest of its tab, as the protection may be of
 * that alone: rows to add (`new`), or one to update (`row`).
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
    const again = isKnown && tabs.has(tabOf(request)) ? outcome : elsewhere(outcome);
    return [request, { ...again, progress: { group: `${kindOf(request)} ${tabOf(request)}` } }];
  });
}

const tabOf = ({ message }: RowRequest): string => message.tab.toLowerCase();

const elsewhere = ({ reason, detail }: Retry): Retry =>
  retry(reason, `${detail} It may have been said of another tab, so this row goes again.`, 0);

/**
 * How deliveries end whose call failed. Where Google refuses all rows for the fault of one and does not say which, halves
 * of them go apart next time, and so on down to the one, for which alone a refusal is final. That takes a handful of calls
 * and harms no good row; it helps with a call that is too large, too.
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
