import { failedCheck, passed } from '../../../src/connector.ts';
import type { AttemptRequest, LiveCheck, RefreshTokens, Sink } from '../../../src/connector.ts';
import { isMap } from '../../../src/model.ts';
import type { Outcome } from '../../../src/model/outcomes.ts';
import { Caller, waitForBody } from '../caller.ts';
import type { LookupOptions, Question } from './options.ts';
import { mostAnswerBytes, outcomeOf } from './outcomes.ts';

/** Opens no connection yet. */
export function connectLookup(options: LookupOptions, refreshTokens?: RefreshTokens): Sink<Question> {
  const caller = new Caller(options, { base: { accept: 'application/json' } }, refreshTokens);

  async function ask(
    path: string,
    { now, signal, mask }: Pick<AttemptRequest<Question>, 'now' | 'signal' | 'mask'>,
    trace?: { readonly traceparent: string },
  ): Promise<Outcome> {
    const request = {
      method: 'GET',
      path,
      maxAnswerBytes: mostAnswerBytes,
      ...trace,
      ...waitForBody,
    } as const;
    let result = await caller.call(request, signal);
    // A login may end before its time. Asking twice changes nothing.
    const isLoggedOut = caller.hasTokens && 'answer' in result && result.answer.status === 401;
    if (isLoggedOut && !signal.aborted) result = await caller.call(request, signal);
    if ('outcome' in result) return result.outcome;
    const { proxy } = caller.route;
    const terms = { ...options, proxy, now, hide: mask, aborted: signal.aborted };
    return caller.told(outcomeOf(result, terms), now);
  }

  return {
    deliver: (request) => ask(request.message.path, request, { traceparent: request.traceparent() }),
    async check(questions, signal) {
      const login = await caller.checkLogin(signal);
      if (login.some(({ ok }) => !ok)) return login;
      const asked = questions.map(async ({ path }) => {
        // No value is shown.
        const outcome = await ask(path, { now: Date.now(), signal, mask: (text) => text });
        return checkOf(outcome, options);
      });
      return [...login, ...(await Promise.all(asked))];
    },
    close: () => caller.close(),
  };
}

/** Which fields were found, and of which type; no values. */
function checkOf(outcome: Outcome, { fields }: Pick<LookupOptions, 'fields'>): LiveCheck {
  const what = 'url answers';
  const so =
    outcome.outcome === 'delivered'
      ? outcome.receipt['facts']
      : outcome.outcome === 'retry' && outcome.progress;
  if (!so || !isMap(so)) {
    return failedCheck(what, outcome as Exclude<Outcome, { outcome: 'delivered' }>);
  }
  const found = isMap(so['fields']) ? so['fields'] : {};
  const words = Object.entries(fields).map(([name, { type }]) => {
    const { [name]: value } = found;
    return `${name}: ${value === undefined ? 'not of its type' : value === null ? 'not there' : type}`;
  });
  const detail = `${words.join(', ')}.${typeof so['reason'] === 'string' ? ` ${so['reason']}` : ''}`;
  const isFine = Object.keys(fields).every((name) => found[name] !== undefined);
  return isFine
    ? passed(what, detail)
    : { ok: false, what, detail, advice: 'Check at and type of these fields.' };
}
