import { rejected, retry, sinkWide, unknown } from '../../src/connector.ts';
import type { Rejected, Retry, Unknown } from '../../src/model.ts';
import type { ApiError, Failure } from './failure.ts';

/** What the words about a failure name. */
export interface Subject {
  /** The service account that the sheet has to be shared with. */
  readonly account: string;
}

/** How a write that failed ends its attempt. */
export function outcomeOf(failure: Failure, subject: Subject): Retry | Rejected | Unknown {
  switch (failure.kind) {
    case 'stopped':
      return failure.left
        ? unknown('timeout', 'Google Sheets had not answered when the time was up.')
        : retry('timeout', 'The time was up before the row could be sent.');
    case 'network':
      return failure.left
        ? unknown('network', `Google Sheets was reached, then ${failure.words}.`)
        : sinkWide('network', `Google could not be reached: ${failure.words}.`);
    case 'token':
      return ofToken(failure, subject);
    case 'http':
      return ofStatus(failure, subject);
    case 'miscounted':
      return unknown(
        'server',
        `Google Sheets says that it wrote ${failure.written} of ${failure.sent} rows.`,
      );
    default:
      return unknown(
        'server',
        'Something other than Google answered. Check apiUrl and any proxy on the way.',
      );
  }
}

/** The same for a call that writes no row, so that it certainly is not there. */
export function beforeWriting(failure: Failure, subject: Subject): Retry | Rejected {
  const outcome = outcomeOf(failure, subject);
  return outcome.outcome === 'unknown' ? sinkWide(outcome.reason, outcome.detail) : outcome;
}

/** The same for a call that only asks: it can always be asked again. */
export function askedInVain(failure: Failure, subject: Subject): Retry {
  const outcome = beforeWriting(failure, subject);
  return outcome.outcome === 'retry' ? outcome : retry(outcome.reason, `${outcome.detail} ${outcome.advice}`);
}

function ofToken({ status, words, retryAfterMs }: Failure & { kind: 'token' }, { account }: Subject): Retry {
  const said = words === '' ? `HTTP status ${status}` : words;
  const detail = `Google gave no access token for ${account}: ${said.replace(/\s+/g, ' ')}.`;
  if (status === 429) return sinkWide('rate_limited', detail, retryAfterMs);
  if (status >= 500 || status === 408) return sinkWide('server', detail, retryAfterMs);
  const fix = "Check that the key still exists, that the account is enabled, and this machine's clock.";
  return sinkWide('auth', `${detail} ${fix}`);
}

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
  if (status >= 500) return unknown('server', detail);
  if (status === 400) return ofInvalid(detail, error);
  if (status === 401 || status === 403) return sinkWide('auth', `${detail} ${accessAdvice(error, subject)}`);
  if (status === 404) return sinkWide('not_found', `${detail} Check spreadsheetId in the sink.`);
  // Two that mean "not now"; a conflict is with somebody else's edit.
  if (status === 408 || status === 409) return sinkWide('server', detail, retryAfterMs);
  if (status < 400) return sinkWide('not_found', `${detail} Check apiUrl and any proxy on the way.`);
  return rejected(
    'invalid',
    detail,
    'Look the answer up in the reference of the Google Sheets API, mend the config, then replay.',
  );
}

function ofInvalid(detail: string, { message }: ApiError): Retry | Rejected {
  if (isMissingTab(message)) return retry('not_found', `${detail} The tab was renamed or deleted meanwhile.`);
  if (/limit of \d+ cells/i.test(message)) {
    return sinkWide('invalid', `${detail} Delete old rows, or put a new spreadsheetId into the sink.`);
  }
  if (/protected/i.test(message)) {
    return rejected('invalid', detail, 'Let the service account edit the protected range, then replay.');
  }
  return rejected('invalid', detail, 'Check the tab and the row of the action, then replay.');
}

/** How the API says that a range names a tab that is not there. */
export function isMissingTab(message: string): boolean {
  return message.startsWith('Unable to parse range');
}

function accessAdvice({ reason }: ApiError, { account }: Subject): string {
  return reason === 'SERVICE_DISABLED'
    ? 'Enable the Google Sheets API in the Google Cloud project of the service account.'
    : `Share the spreadsheet with ${account} as an editor.`;
}

function saidBy({ message }: ApiError): string {
  const line = message.replace(/\s+/g, ' ').trim().slice(0, 300);
  return line === '' ? '' : ` It said: ${/[.!?]$/.test(line) ? line : `${line}.`}`;
}
