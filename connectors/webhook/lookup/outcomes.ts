import {
  delivered,
  fetchFailure,
  perhapsSinkWide,
  rejected,
  retry,
  sinkWide,
  statedDelayMs,
  type Mask,
} from '../../../src/connector.ts';
import type { Json, LookupFacts } from '../../../src/model.ts';
import type { Outcome, Retry } from '../../../src/model/outcomes.ts';
import type { Answer, Exchange } from '../client.ts';
import { notPublic, pointsToLogin, reasonOf } from '../outcomes.ts';
import { PrivateAddressError } from '../public-addresses.ts';
import { nothingFound, readAnswer, type Wanted } from './answer.ts';

/** The facts that an outcome depends on besides the answer. `now`: when the API was asked (ms). */
interface Terms extends Wanted {
  readonly proxy: string | null;
  readonly now: number;
  readonly aborted: boolean;
  /** Hides credentials in the facts: an API may quote its call, as in an address. */
  readonly hide: Mask;
}

/** Longer answers are not read. */
export const mostAnswerBytes = 256 * 1024;

/**
 * The outcome of a call. `delivered`: its receipt has the status, the facts, in `found` the names of the fields that were
 * there, and in `lacks` of those that were not, or not of their type; a note says which were not of their type. `retry` with
 * `progress`: something is not there yet; the progress has the facts so far, which count if no better ones come. `rejected`:
 * asking again would not help. No outcome quotes the body, and none is `unknown`, as asking changes nothing.
 */
export function outcomeOf(result: Exchange, terms: Terms): Outcome {
  if ('answer' in result) return outcomeOfAnswer(result.answer, terms);
  const { error } = result;
  if (error instanceof PrivateAddressError) return notPublic('look-up');
  if (terms.aborted) return sinkWide('timeout', 'The API did not answer in time.');
  const { words, sent } = fetchFailure(error, terms.proxy);
  const what = sent ? `No answer came: ${words}.` : `The API cannot be reached: ${words}.`;
  return sinkWide(reasonOf(error), what);
}

function outcomeOfAnswer(answer: Answer, terms: Terms): Outcome {
  const { status } = answer;
  if (status >= 200 && status < 300) return outcomeOfBody(answer, terms);
  const said = `The API answered ${status}.`;
  if (status === 404) return nothingYet(status, terms);
  if (status === 410) {
    const facts = nothingFound(terms, said, terms.now) as unknown as Json;
    return delivered({ status, lacks: Object.keys(terms.fields), facts });
  }
  const statedMs = statedDelayMs([answer.headers['retry-after']].flat()[0], terms.now);
  const isLogin = pointsToLogin(answer);
  if (status < 400 && !isLogin)
    return perhapsSinkWide(
      'not_found',
      `${said} Redirects are not followed. Put the final address into the look-up's url.`,
    );
  if (isLogin || status === 401 || status === 403 || status === 407)
    return sinkWide(
      'auth',
      `${said}${isLogin ? ' It points to a login.' : ''} Check the look-up's auth and headers, and what its login may see.`,
    );
  if (status === 429) return sinkWide('rate_limited', `${said} Set the look-up's rate.`, statedMs);
  if (ofThisOne.has(status))
    return rejected('invalid', said, "Check the look-up's url with what the API expects.");
  if (status === 408) return sinkWide('timeout', said, statedMs);
  // These may be about what was asked for: others may get through.
  if (status >= 500)
    return (status === 500 || status === 501 ? perhapsSinkWide : sinkWide)('server', said, statedMs);
  return perhapsSinkWide('invalid', `${said} Check the look-up's url.`, statedMs);
}

/** The API refuses what was asked, and would again: bad request, too long an address, bad content. */
const ofThisOne = new Set([400, 414, 422]);

function outcomeOfBody({ status, text, isWhole, isTooLong }: Answer, terms: Terms): Outcome {
  const unusable = (what: string) =>
    rejected('invalid', `The API answered ${status}, ${what}.`, "Check the look-up's url and the API.");
  if (isTooLong) return unusable(`with more than ${mostAnswerBytes / 1024} kB`);
  if (!isWhole)
    return sinkWide(
      terms.aborted ? 'timeout' : 'network',
      'The answer of the API broke off, or came too late.',
    );
  // 204, or what a framework makes of null.
  if (text.trim() === '') return nothingYet(status, terms);
  let body: Json;
  try {
    body = JSON.parse(text) as Json;
  } catch {
    // A page of something before the API, perhaps: of a login, or that it is being repaired.
    return perhapsSinkWide(
      'invalid',
      `The API answered ${status}, but with no JSON. Check the look-up's url and auth.`,
    );
  }
  const { facts, missing } = readAnswer(terms, body, terms);
  const all = Object.keys(terms.fields);
  const isFound = (field: string): boolean => (facts.fields[field] ?? null) !== null;
  const [found, lacks] = [all.filter(isFound), all.filter((field) => !isFound(field))];
  // 202 (Accepted): the API is still at work on it.
  const awaited = status === 202 && lacks.length === all.length ? lacks : missing;
  if (awaited.length > 0)
    return notYet(`It has no ${awaited.join(' and no ')} yet.`, status, terms, () => facts);
  const receipt = {
    status,
    ...(found.length > 0 && { found }),
    ...(lacks.length > 0 && { lacks }),
    facts: facts as unknown as Json,
  };
  return delivered(receipt, facts.reason ?? undefined);
}

const nothingYet = (status: number, terms: Terms): Retry =>
  notYet('It has nothing about this yet, or the url is wrong.', status, terms, nothingFound);

function notYet(
  what: string,
  status: number,
  terms: Terms,
  factsSoFar: (wanted: Wanted, reason: string, at: number) => LookupFacts,
): Retry {
  const reason = `The API answered ${status}. ${what}`;
  const facts = { ...factsSoFar(terms, reason, terms.now) };
  return { ...retry('not_found', reason), progress: { ...facts, reason: facts.reason ?? reason } };
}
