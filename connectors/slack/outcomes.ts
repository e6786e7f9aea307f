import { rejected, retry, sinkWide, unknown } from '../../src/connector.ts';
import type { Reason, Rejected, Retry, Unknown } from '../../src/model.ts';
import type { Failure, RefusalData } from './client.ts';
import { otherRefusal, refusals } from './refusals.ts';

/** How a post that failed ends its attempt. */
export function outcomeOf(failure: Failure, channel: string): Retry | Rejected | Unknown {
  switch (failure.kind) {
    case 'stopped':
      return failure.left
        ? unknown('timeout', 'Slack had not answered when the time was up.')
        : retry('timeout', 'The time was up before the message could be sent.');
    case 'network':
      return failure.left
        ? unknown('network', `Slack was reached, then ${failure.words}.`)
        : sinkWide('network', `Slack could not be reached: ${failure.words}.`);
    case 'http':
      return ofStatus(failure);
    case 'refused':
      return ofRefusal(failure.error, failure.data, channel);
    default:
      return unknown('server', 'Something other than Slack answered. Check apiUrl and any proxy on the way.');
  }
}

/** The same for a call that only asks: nothing was sent, so it can always be asked again. */
export function askedInVain(failure: Failure, channel: string): Retry {
  const outcome = outcomeOf(failure, channel);
  if (outcome.outcome === 'retry') return outcome;
  if (outcome.outcome === 'unknown') return sinkWide(outcome.reason, outcome.detail);
  return retry(outcome.reason, `${outcome.detail} ${outcome.advice}`);
}

function ofStatus({ status, retryAfterMs }: Failure & { kind: 'http' }): Retry | Rejected | Unknown {
  if (status === 429)
    return retry('rate_limited', 'Slack takes no more messages for the moment.', retryAfterMs);
  const detail = `Slack answered with HTTP status ${status}.`;
  if (status === 503) return sinkWide('server', detail, retryAfterMs);
  if (status >= 500) return unknown('server', detail);
  if (status === 408 || status === 425) return sinkWide('server', detail);
  if (status === 413) return rejected('invalid', detail, 'Make the message shorter, then replay.');
  // Slack itself has none of these: the address is wrong, or a proxy stands in the way of every message.
  return sinkWide(reasonOfForeign(status), `${detail} Check apiUrl and any proxy on the way.`);
}

function reasonOfForeign(status: number): Reason {
  if (status === 401 || status === 403 || status === 407) return 'auth';
  return status === 404 || status === 410 || status < 400 ? 'not_found' : 'invalid';
}

function ofRefusal(error: string, data: RefusalData, channel: string): Retry | Rejected | Unknown {
  const { means, reason, what, advice } = refusals.get(error) ?? otherRefusal;
  const said = what.replace('{channel}', () => channel);
  const detail = `Slack refused it: ${said} (${error}${details(data)}).`;
  if (means === 'perhaps') return unknown(reason, detail);
  if (means === 'never') return rejected(reason, detail, advice);
  return means === 'sink' ? sinkWide(reason, `${detail} ${advice}`) : retry(reason, `${detail} ${advice}`);
}

function details({ needed, provided, response_metadata }: RefusalData): string {
  const scopes = needed ? [`needed: ${needed}`, `granted: ${provided ?? ''}`] : [];
  const all = [...scopes, ...(response_metadata?.messages ?? [])];
  return all.length === 0 ? '' : `: ${all.join('; ').replace(/\s+/g, ' ').slice(0, 500)}`;
}
