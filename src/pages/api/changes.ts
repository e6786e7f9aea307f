import { Router, type Request, type Response } from 'express';
import { fieldsOf } from '../../admin/access.ts';
import { type ChangeResult, NotThere, selected, type Selection } from '../../deliveries/by-hand.ts';
import { answerProblem } from '../../http/problem.ts';
import { replayableStates } from '../../model.ts';
import { needsRetry, sinkStates } from '../../ops/needs.ts';
import { StoreUnavailable } from '../../store/store.ts';
import { printable } from '../../support/text.ts';
import { carryOut, tryNow } from '../changes.ts';
import { byOf, type Parts } from '../page.ts';

const actions = ['replay', 'discard'] as const;
type Action = (typeof actions)[number];

/** Replays and discards for programs: of one delivery, or of all that the body means. */
export function changesRouter(parts: Parts): Router {
  const router = Router();
  for (const action of actions) {
    router.post(`/${action}`, (req, res) => changeMany(parts, action, req, res));
    router.post(`/:id/${action}`, (req, res) => changeOne(parts, action, req.params.id, req, res));
  }
  return router;
}

/** Tries a sink at once. */
export async function retryNow(parts: Parts, sink: string, res: Response): Promise<void> {
  if (!parts.config().sinks.has(sink))
    return answerProblem(res, { status: 404, detail: 'The config has no such sink.' });
  try {
    const state = await tryNow(parts, sink);
    if (needsRetry(state)) return void res.json({ sink, state });
    answerProblem(res, { status: 409, detail: `It is ${sinkStates[state]}: there is nothing to try.` });
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
    answerProblem(res, { status: 503, detail: unreadable });
  }
}

async function changeOne(
  parts: Parts,
  action: Action,
  id: string,
  req: Request,
  res: Response,
): Promise<void> {
  const done = await doneTo(parts, action, { ids: [id], states: [] }, req, res);
  const [one] = done ?? [];
  if (one === undefined) return;
  if (!one.ok) return answerProblem(res, { status: 409, detail: `${one.id}: ${one.says}` });
  res.json({ deliveryId: one.id, state: action === 'replay' ? 'pending' : 'discarded' });
}

async function changeMany(parts: Parts, action: Action, req: Request, res: Response): Promise<void> {
  const { event, state, sink, rule, cause } = fieldsOf(req);
  const unknown = unknownField(req);
  if (unknown !== undefined)
    return answerProblem(res, {
      status: 422,
      detail: `Nothing was done: "${printable(unknown).slice(0, 60)}" is not one of ${keys.join(', ')}, or no single text.`,
    });
  if ((event === undefined && state === undefined) || !isState(state))
    return answerProblem(res, {
      status: 422,
      detail: 'Give `state` ("dead" or "held") or `event`, and narrow it by `sink` and `rule`.',
    });
  if (cause !== undefined && (state !== 'dead' || event !== undefined))
    return answerProblem(res, { status: 422, detail: '`cause` narrows the state "dead" alone.' });
  const meant = {
    ids: event === undefined ? [] : [event],
    states: replayableStates.filter((one) => state === undefined || one === state),
    ...(sink !== undefined && { sink }),
    ...(rule !== undefined && { rule }),
    ...(cause !== undefined && { cause }),
  };
  const done = await doneTo(parts, action, meant, req, res);
  if (done === null) return;
  res.json({
    changed: done.filter(({ ok }) => ok).map(({ id }) => id),
    refused: done.filter(({ ok }) => !ok).map(({ id, says }) => ({ deliveryId: id, why: says })),
  });
}

const keys = ['event', 'state', 'sink', 'rule', 'cause', 'note', 'csrf'];

/** Left out, as a misspelt or repeated `sink`, it would mean the deliveries of all of them. */
function unknownField(req: Request): string | undefined {
  const known = fieldsOf(req);
  return Object.keys((req.body ?? {}) as object).find((key) => !keys.includes(key) || !(key in known));
}

const isState = (state: string | undefined): boolean =>
  state === undefined || replayableStates.some((one) => one === state);

/** Null where the answer says already why not. */
async function doneTo(
  parts: Parts,
  action: Action,
  meant: Selection,
  req: Request,
  res: Response,
): Promise<ChangeResult[] | null> {
  const done: ChangeResult[] = [];
  try {
    for await (const page of selected(parts.reads, meant))
      done.push(...(await carryOut(parts, action, page, byOf(req, 'the API'))));
    return done;
  } catch (error) {
    const status = error instanceof NotThere ? 404 : error instanceof StoreUnavailable ? 503 : null;
    if (status === null) throw error;
    answerProblem(res, { status, detail: status === 404 ? (error as Error).message : unreadable });
    return null;
  }
}

const unreadable = 'The store cannot be used just now. What was done before that stays done.';
