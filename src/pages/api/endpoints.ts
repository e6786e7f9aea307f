import { Router, type Request } from 'express';
import { z } from 'zod';
import { personOf } from '../../admin/access.ts';
import { verdictsOf } from '../../config/live/stored-plans.ts';
import { wording } from '../../config/text/wording.ts';
import { leftOut } from '../../by-hand/change.ts';
import { NotThere, selected, type Selection } from '../../by-hand/selection.ts';
import { pauseLength } from '../../by-hand/sinks.ts';
import { answerProblem, type Refusal } from '../../http/problem.ts';
import { acceptRefused } from '../../intake.ts';
import { deliveryStates, statuses, stuckStates } from '../../model.ts';
import { detailJson, refusedEventFields, storyJson } from '../../printed/json.ts';
import { noRetry } from '../../ops/sink-states.ts';
import { pauseJson, refusedJson, statusJson } from '../../ops/status/json.ts';
import { readStatus, refusedOf } from '../../ops/status/status.ts';
import { pausesNow } from '../../ops/pauses.ts';
import { StoreUnavailable } from '../../store/store.ts';
import { printable } from '../../support/text.ts';
import { carryOut } from '../changes/run.ts';
import { isCalled, pause, resume, tryNow } from '../changes/sinks.ts';
import { lookUpAgain } from '../events/lookups.ts';
import { byOf, type Parts, storyFor } from '../page.ts';
import { keptRefused } from '../refused/events.ts';
import { policiesIn, routesIn } from '../rules/config-shown.ts';
import { type DescribedRoute, openApi } from './openapi.ts';
import {
  detail,
  json,
  pausedSink,
  policy,
  refused,
  refusedEvent,
  route,
  sinkState,
  status,
  story,
} from './shapes.ts';

/** An endpoint, with its handler. */
interface ApiRoute extends DescribedRoute {
  /** Resolves to the answer's body. Throws NotPossible. */
  readonly handle: (parts: Parts, req: Request) => Promise<object>;
}

/** Thrown where a request is not served. */
class NotPossible extends Error {
  readonly refusal: Refusal;

  constructor(refusal: Refusal) {
    super(refusal.detail);
    this.refusal = refusal;
  }
}

/** The query or body of a request, read by its schema. Throws NotPossible with all faults. */
function understood<Schema extends z.ZodObject>(
  schema: Schema,
  given: unknown,
  refusal: Refusal,
): z.output<Schema> {
  const read = schema.safeParse(given ?? {}, { error: wording });
  if (read.success) return read.data;
  const faults = read.error.issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.map((key) => ({
          field: printable(key).slice(0, 60),
          detail: `Expected one of ${Object.keys(schema.shape).join(', ')}.`,
        }))
      : [
          {
            field: issue.path.join('.') || 'body',
            detail: `${issue.message.replace(/^expected/, 'Expected')}.`,
          },
        ],
  );
  throw new NotPossible({ ...refusal, faults });
}

/** The id of a test, of up to 16 digits: the largest integer that differs from the next one in JavaScript has 16. */
const testId = z.string().regex(/^-?\d{1,16}$/, { error: 'expected the id of a test, a whole number' });
const note = z.string().optional().describe('Why, for the audit.');
const csrf = z.string().optional().describe('Of a page, for its session.');

/** The query of a search. */
const searchQuery = z.strictObject({
  candidate: z
    .string()
    .optional()
    .describe('An id; or else the number; or else the beginning of an id, of 6 characters or more.'),
  test: testId.transform(Number).optional(),
  status: z.enum(statuses).optional(),
  correlation: z.string().optional().describe('The correlation id of the event, or of one of its repeats.'),
  rule: z.string().optional(),
  sink: z.string().optional(),
  state: z.enum(deliveryStates).optional().describe('Of a delivery.'),
  since: z.iso.datetime({ offset: true }).optional().describe('Received then or later.'),
  until: z.iso.datetime({ offset: true }).optional().describe('Received before.'),
  after: z.string().optional().describe('`after` of the page before.'),
  limit: z.coerce.number().int().min(1).max(500).optional().describe('Default: 50.'),
});

const timeOf = (text: string | undefined) => (text === undefined ? undefined : Date.parse(text));

async function search({ reads }: Parts, { query }: Request) {
  const refusal = { status: 400, detail: 'The query cannot be understood.' };
  const { candidate, test, state, since, until, ...rest } = understood(searchQuery, query, refusal);
  const candidates = candidate === undefined ? undefined : await reads.candidatesMeant(candidate);
  const times = { since: timeOf(since), until: timeOf(until) };
  const states = state && [state];
  const found = await reads.search({ ...rest, ...times, testId: test, states, candidates });
  return { events: found.stories.map(storyJson), after: found.after };
}

const meant = z.strictObject({
  event: z.string().optional(),
  state: z.enum(stuckStates).optional(),
  sink: z.string().optional(),
  rule: z.string().optional(),
  cause: z.string().optional().describe('With the state `dead` alone, as the status names it.'),
  note,
  csrf,
});

const unclear = { status: 422, detail: 'Nothing was done: the body cannot be understood.' };

/** The body of a pause. */
const pausing = z.strictObject({
  for: pauseLength.optional().describe('Such as `2h`; else until somebody resumes it.'),
  note,
  csrf,
});

/** The sink, or the sink of a look-up, that a path names. Throws NotPossible. */
function sinkOf({ config }: Parts, { params }: Request, which: 'all' | 'sinks' = 'all'): string {
  const sink = String(params['sink']);
  if (which === 'all' ? isCalled(config(), sink) : config().sinks.has(sink)) return sink;
  throw new NotPossible({ status: 404, detail: 'The config has no such sink.' });
}

type Action = 'replay' | 'discard';

async function changeMany(parts: Parts, action: Action, req: Request) {
  const { event, state, sink, rule, cause } = understood(meant, req.body, unclear);
  if (event === undefined && state === undefined)
    throw new NotPossible({
      status: 422,
      detail: 'Give `state` ("dead" or "held") or `event`, and narrow it by `sink` and `rule`.',
    });
  if (cause !== undefined && (state !== 'dead' || event !== undefined))
    throw new NotPossible({ status: 422, detail: '`cause` narrows the state "dead" alone.' });
  const done = await changed(parts, action, req, {
    ids: event === undefined ? [] : [event],
    states: state === undefined ? stuckStates : [state],
    sink,
    rule,
    cause,
  });
  return {
    changed: done.filter(({ ok }) => ok).map(({ id }) => id),
    refused: done.filter(({ ok }) => !ok).map(({ id, says }) => ({ deliveryId: id, why: says })),
  };
}

async function changeOne(parts: Parts, action: Action, req: Request) {
  const [one] = await changed(parts, action, req, { ids: [String(req.params['id'])], states: [] });
  if (!one) throw new NotPossible({ status: 404, detail: 'This is the id of no delivery.' });
  const { id, ok, says } = one;
  if (!ok) throw new NotPossible({ status: 409, detail: `${id}: ${says}` });
  return { deliveryId: id, state: action === 'replay' ? 'pending' : 'discarded' };
}

async function changed(parts: Parts, action: Action, req: Request, which: Selection) {
  try {
    const pages = await Array.fromAsync(selected(parts, action, which), async ({ page, over }) => [
      ...(await carryOut(parts, action, page, byOf(req, 'the API'))),
      ...over.map(leftOut),
    ]);
    return pages.flat();
  } catch (error) {
    if (error instanceof NotThere) throw new NotPossible({ status: 404, detail: error.message });
    throw error;
  }
}

const changes = (action: Action, does: string): ApiRoute[] => [
  {
    method: 'post',
    path: `/deliveries/{id}/${action}`,
    summary: `${does} a delivery that is dead or held.`,
    body: z.object({ note }),
    answer: z.object({ deliveryId: z.string(), state: z.enum(deliveryStates) }),
    handle: (parts, req) => changeOne(parts, action, req),
  },
  {
    method: 'post',
    path: `/deliveries/${action}`,
    summary: `${does} all dead or held deliveries that the body means: of an event, or in a state.`,
    body: meant,
    answer: z.object({
      changed: z.array(z.string()),
      refused: z.array(z.object({ deliveryId: z.string(), why: z.string() })),
    }),
    handle: (parts, req) => changeMany(parts, action, req),
  },
];

const notKept = new NotPossible({ status: 404, detail: 'No such refused event is kept, or not any more.' });

const apiRoutes: readonly ApiRoute[] = [
  {
    method: 'get',
    path: '/status',
    summary: 'Whether everything is all right.',
    answer: status,
    handle: async (parts) =>
      statusJson(await readStatus(parts, parts.clock.now(), parts.config().plan.timeZone)),
  },
  {
    method: 'get',
    path: '/events',
    summary:
      'Events, newest first, page by page. A page may have fewer than its limit although there are more.',
    query: searchQuery,
    answer: z.object({ events: z.array(story), after: z.string().nullable().describe('null: no more.') }),
    handle: search,
  },
  {
    method: 'get',
    path: '/events/{id}',
    summary: "An event's whole story.",
    answer: detail,
    async handle(parts, req) {
      const found = await storyFor(personOf(req), parts, String(req.params['id']));
      if (found === null) throw new NotPossible({ status: 404, detail: 'There is no such event.' });
      const { story: whole, shown } = found;
      const rules = verdictsOf(await parts.plan(whole.configId), whole);
      return detailJson(shown, rules, await parts.reads.audit({ about: whole.event.id }));
    },
  },
  {
    method: 'get',
    path: '/refused',
    summary: 'How many events were refused, until somebody puts that away.',
    answer: z.object({
      totals: z.array(refused),
      items: z.array(refusedEvent).describe('Those of them that are kept to be taken in.'),
    }),
    async handle(parts) {
      const items = await keptRefused(parts);
      return { totals: refusedJson(await refusedOf(parts)), items: items.map(refusedEventFields) };
    },
  },
  {
    method: 'post',
    path: '/refused/{id}/accept',
    summary: 'Takes in a refused event as if it came now.',
    body: z.object({ note }),
    answer: z.object({ eventId: z.string(), duplicate: z.boolean().describe('It had come already.') }),
    async handle(parts, req) {
      const accepted = await acceptRefused(String(req.params['id']), byOf(req, 'the API'), parts);
      if (accepted === null) throw notKept;
      return { eventId: accepted.eventId, duplicate: accepted.duplicate };
    },
  },
  {
    method: 'post',
    path: '/refused/{id}/ignore',
    summary: 'Puts a refused event away.',
    body: z.object({ note }),
    answer: z.object({ id: z.string() }),
    async handle({ store }, req) {
      const id = String(req.params['id']);
      const doing = { action: 'ignore', at: await store.now(), by: byOf(req, 'the API') } as const;
      if ((await store.putAwayRefused([id], doing)).length === 0) throw notKept;
      return { id };
    },
  },
  ...changes('replay', 'Sends again'),
  ...changes('discard', 'Gives up'),
  {
    method: 'post',
    path: '/events/{id}/lookup',
    summary: 'Looks up again what a decided event is about; sends nothing.',
    body: z.object({ note }),
    answer: z.object({
      deliveries: z.array(z.string()).describe('The ids of the look-ups; none where they are under way.'),
    }),
    async handle(parts, req) {
      const came = await parts.reads.event(String(req.params['id']));
      if (!came) throw new NotPossible({ status: 404, detail: 'There is no such event.' });
      const made = await lookUpAgain(parts, came, byOf(req, 'the API'));
      if ('fault' in made)
        throw new NotPossible({ status: 409, detail: `It cannot be asked: ${made.fault}.` });
      return made;
    },
  },
  {
    method: 'post',
    path: '/sinks/{sink}/retry',
    summary: 'Tries a paused or failing sink now; 409 where it is neither, or a person has paused it.',
    body: z.object({ note }),
    answer: z.object({ sink: z.string(), state: sinkState.describe('Before.') }),
    async handle(parts, req) {
      const name = sinkOf(parts, req);
      const found = await tryNow(parts, name, byOf(req, 'the API'));
      const why = noRetry(found, (time) => new Date(time).toISOString());
      if (why === null) return { sink: name, state: found.state };
      throw new NotPossible({ status: 409, detail: `${why}.` });
    },
  },
  {
    method: 'post',
    path: '/sinks/{sink}/pause',
    summary: 'Sends nothing to a sink for a while: what comes for it waits.',
    body: pausing,
    answer: pausedSink,
    async handle(parts, req) {
      const name = sinkOf(parts, req, 'sinks');
      const { for: forMs } = understood(pausing, req.body, unclear);
      await pause(parts, name, forMs ?? null, byOf(req, 'the API'));
      const found = (await pausesNow(parts.store, parts.clock.now())).get(name) ?? null;
      return { sink: name, state: 'paused', ...pauseJson(found) };
    },
  },
  {
    method: 'post',
    path: '/sinks/{sink}/resume',
    summary: 'Ends the pause of a sink that a person has paused; 409 where none has.',
    body: z.object({ note }),
    answer: z.object({ sink: z.string() }),
    async handle(parts, req) {
      if (await resume(parts, String(req.params['sink']), byOf(req, 'the API')))
        return { sink: req.params['sink'] };
      throw new NotPossible({ status: 409, detail: `${sinkOf(parts, req)} is not paused by a person.` });
    },
  },
  {
    method: 'get',
    path: '/routes',
    summary: 'Who hears of which test and status, and whether the policies hold.',
    answer: z.object({ routes: z.array(route), policies: z.array(policy) }),
    async handle({ config }) {
      const inForce = config();
      return { routes: await routesIn(inForce), policies: await policiesIn(inForce) };
    },
  },
  {
    method: 'get',
    path: '/openapi.json',
    summary: 'This document.',
    answer: z.record(z.string(), json),
    handle: async () => openApi(apiRoutes),
  },
];

/** The API: what the pages show and do, for programs. */
export function apiRouter(parts: Parts): Router {
  const router = Router();
  for (const { method, path, handle } of apiRoutes)
    router[method](path.replaceAll(/\{(\w+)\}/g, ':$1'), async (req, res) => {
      try {
        const answer = await handle(parts, req);
        res.set('cache-control', 'no-store').json(answer);
      } catch (error) {
        answerProblem(res, refusalFor(error, method));
      }
    });
  return router;
}

function refusalFor(error: unknown, method: 'get' | 'post'): Refusal {
  if (error instanceof NotPossible) return error.refusal;
  if (!(error instanceof StoreUnavailable)) throw error;
  const words =
    method === 'get'
      ? 'The store cannot be read just now.'
      : 'The store cannot be used just now. What was done before that stays done.';
  return { status: 503, detail: words };
}
