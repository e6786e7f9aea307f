import { z } from 'zod';
import {
  alertKinds,
  deliverySpec,
  deliveryStates,
  eventSpec,
  type FieldList,
  outcomeKinds,
  reasons,
  refusalReasons,
  shownInDetail,
  shownOfDelivery,
  shownOfEvent,
  statuses,
} from '../../model.ts';
import { type SinkState, sinkStates } from '../../ops/needs.ts';

/** The API as OpenAPI 3.1 has it. A test asks a real server, and compares what it answers with this. */

export interface ApiRoute {
  readonly method: 'get' | 'post';
  /** As OpenAPI has it, below `/api`. */
  readonly path: string;
  readonly summary: string;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodObject;
  readonly answer: z.ZodType;
}

const time = z.iso.datetime();
const json = z.unknown();
const count = z.int().min(0);

const kinds = {
  text: z.string(),
  number: z.int(),
  time,
  flag: z.boolean(),
  json,
  map: z.record(z.string(), json),
};

/** Fields of a record, as its list describes them. */
const recordOf = (list: FieldList, fields: readonly string[]) =>
  z.object(
    Object.fromEntries(
      fields.map((field) => {
        const { kind, values, nullable, about } = list[field]!;
        const type: z.ZodType = values ? z.enum(values) : kinds[kind];
        const whole = nullable ? type.nullable() : type;
        return [field, about === undefined ? whole : whole.describe(about)];
      }),
    ),
  );

const delivery = recordOf(deliverySpec, shownOfDelivery);
const event = recordOf(eventSpec, shownOfEvent).extend({ duplicates: count });

const attempt = z.object({
  number: z.int().min(1),
  startedAt: time,
  endedAt: time,
  outcome: z.enum(outcomeKinds),
  reason: z.enum(reasons).optional(),
  detail: z.string().optional(),
  advice: z.string().optional(),
  note: z.string().optional(),
  missed: z.literal(true).optional(),
  receipt: z.record(z.string(), json).optional(),
  retryAfterMs: z.number().optional(),
  sinkWide: z.union([z.boolean(), z.literal('perhaps')]).optional(),
  perhapsDone: z.literal(true).optional(),
  progress: json.optional(),
});

const story = event.extend({ deliveries: z.array(delivery) });

const detail = event.extend({
  repeats: z.array(z.object({ receivedAt: time, correlationId: z.string().nullable() })),
  raw: z.record(z.string(), json).describe('The payload as it came.'),
  rules: z
    .array(z.object({ rule: z.string(), matched: z.boolean(), because: z.string() }))
    .nullable()
    .describe('By the config that was in force; null where `rulesLost` says why.'),
  rulesLost: z.string().optional(),
  deliveries: z.array(
    delivery.extend({
      ...recordOf(deliverySpec, shownInDetail).shape,
      message: json,
      history: z.array(attempt),
    }),
  ),
  changes: z.array(
    z.object({
      at: time,
      action: z.string(),
      who: z.string(),
      from: z.string(),
      note: z.string().nullable(),
      deliveries: z.array(z.string()),
    }),
  ),
});

const config = z.object({
  file: z.string().nullable(),
  since: time.nullable(),
  refused: z.object({ since: time, problem: z.string(), others: count }).nullable(),
  waitsForRestart: z.array(z.string()),
  adminClosed: z.string().nullable().describe('Why nobody is let in on the admin port.'),
});

const stuck = z.object({ sink: z.string(), count, reason: z.string(), since: time });

const refused = z.object({
  reason: z
    .enum(refusalReasons)
    .describe('The store could not take them, the address is not allowed, or the token was wrong.'),
  from: z.string().describe('An address; of IPv6 a network; `others` for all beyond 50 sources.'),
  count,
  first: time,
  last: time,
});

const status = z.object({
  needsPerson: z.boolean(),
  needs: z.array(z.string()),
  running: z.boolean(),
  lastSignAt: time.nullable(),
  config,
  copies: z.array(z.object({ copy: z.string(), config })),
  receiver: z.object({ lastEventAt: time.nullable(), eventsToday: count }),
  storeProblem: z.string().nullable().describe('Why the store cannot be written.'),
  refused: z.array(refused),
  sinks: z.array(
    z.object({
      sink: z.string(),
      connector: z.string().nullable(),
      state: z.enum(Object.keys(sinkStates) as SinkState[]),
      paused: z.boolean(),
      since: time.nullable(),
      reason: z.string().nullable(),
      nextProbeAt: time.nullable().describe('Of a paused one. Null if only the next message tells.'),
      lastSuccessAt: time.nullable(),
      attempts: count.describe('Of the last hour.'),
      failures: count.describe('Of these, those that ended `retry` or `unknown`.'),
      pending: count,
      dead: count,
      held: count,
    }),
  ),
  oldestPendingAt: time.nullable(),
  dead: z.array(stuck),
  held: z.array(stuck),
  missed: z.array(stuck),
  notices: z.array(
    z.object({
      id: z.string(),
      alert: z.enum([...alertKinds, 'summary']),
      cause: z.string(),
      sink: z.string().nullable(),
      from: z.string().optional().describe('Of refused events.'),
      count,
      since: time,
      detail: z.string(),
      advice: z.string(),
      recovered: z.boolean(),
      raisedAt: time,
    }),
  ),
});

const route = z.object({
  testId: z.int().nullable().describe('null: any other test.'),
  test: json,
  status: z.enum(statuses),
  heardBy: z.array(
    z.object({
      rule: z.string(),
      action: z.int(),
      sink: z.string(),
      connector: z.string(),
      place: z.string(),
      condition: z.string().nullable(),
      hours: z.string().nullable(),
      digest: z.boolean(),
    }),
  ),
  nobody: z.boolean(),
  otherwiseNobody: z.boolean(),
  meant: z.boolean(),
  twice: z.boolean(),
});

/** Of up to 16 digits, as the largest that can be told from the next one. */
const testId = z.string().regex(/^-?\d{1,16}$/, { error: 'expected the id of a test, a whole number' });
const note = z.string().optional().describe('Why, for the audit.');

/** What the query of a search may have. */
export const searchQuery = z.strictObject({
  candidate: z
    .string()
    .optional()
    .describe('An id; or else the number; or else the beginning of an id, of 6 characters or more.'),
  test: testId.transform(Number).optional(),
  status: z.enum(statuses).optional(),
  rule: z.string().optional(),
  sink: z.string().optional(),
  state: z.enum(deliveryStates).optional().describe('Of a delivery.'),
  since: z.iso.datetime({ offset: true }).optional().describe('Received then or later.'),
  until: z.iso.datetime({ offset: true }).optional().describe('Received before.'),
  after: z.string().optional().describe('`after` of the page before.'),
  limit: z.coerce.number().int().min(1).max(500).optional().describe('Default: 50.'),
});

const changed = z.object({ deliveryId: z.string(), state: z.enum(deliveryStates) });
const changedMany = z.object({
  changed: z.array(z.string()),
  refused: z.array(z.object({ deliveryId: z.string(), why: z.string() })),
});
const meant = z.object({
  event: z.string().optional(),
  state: z.enum(['dead', 'held']).optional(),
  sink: z.string().optional(),
  rule: z.string().optional(),
  cause: z.string().optional().describe('With the state `dead` alone, as the status names it.'),
  note,
});

const changes = (action: 'replay' | 'discard', does: string): ApiRoute[] => [
  {
    method: 'post',
    path: `/deliveries/{id}/${action}`,
    summary: `${does} a delivery that is dead or held.`,
    body: z.object({ note }),
    answer: changed,
  },
  {
    method: 'post',
    path: `/deliveries/${action}`,
    summary: `${does} all dead or held deliveries that the body means: of an event, or in a state.`,
    body: meant,
    answer: changedMany,
  },
];

const apiRoutes: readonly ApiRoute[] = [
  { method: 'get', path: '/status', summary: 'Whether everything is all right.', answer: status },
  {
    method: 'get',
    path: '/events',
    summary:
      'Events, newest first, page by page. A page may have fewer than its limit although there are more.',
    query: searchQuery,
    answer: z.object({ events: z.array(story), after: z.string().nullable().describe('null: no more.') }),
  },
  { method: 'get', path: '/events/{id}', summary: "An event's whole story.", answer: detail },
  {
    method: 'get',
    path: '/refused',
    summary: 'How many events were refused, until somebody puts that away.',
    answer: z.object({ totals: z.array(refused), items: z.array(json).describe('Empty as yet.') }),
  },
  ...changes('replay', 'Sends again'),
  ...changes('discard', 'Gives up'),
  {
    method: 'post',
    path: '/sinks/{sink}/retry',
    summary: 'Tries a paused or failing sink now; 409 where it is neither.',
    body: z.object({}),
    answer: z.object({
      sink: z.string(),
      state: z.enum(Object.keys(sinkStates) as SinkState[]).describe('Before.'),
    }),
  },
  {
    method: 'get',
    path: '/routes',
    summary: 'Who hears of which test and status.',
    answer: z.object({ routes: z.array(route) }),
  },
  { method: 'get', path: '/openapi.json', summary: 'This document.', answer: z.record(z.string(), json) },
];

const problem = z.object({
  type: z.string(),
  title: z.string(),
  status: z.int(),
  detail: z.string(),
  errors: z.array(z.object({ field: z.string(), pointer: z.string(), detail: z.string() })).optional(),
});

const schemaOf = (schema: z.ZodType, io: 'input' | 'output' = 'output') => {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
  return rest;
};

const content = (type: string, schema: z.ZodType, io?: 'input') => ({
  content: { [type]: { schema: schemaOf(schema, io) } },
});

export function openApi() {
  const paths = Map.groupBy(apiRoutes, ({ path }) => `/api${path}`);
  return {
    openapi: '3.1.0',
    info: {
      title: 'Candidate Connector',
      version: '1',
      description: 'What the operations page shows and does, for programs.',
    },
    security: [{ password: [] }],
    components: {
      securitySchemes: {
        password: {
          type: 'http',
          scheme: 'basic',
          description: 'Any user name, which the audit has, and admin.password.',
        },
      },
    },
    paths: Object.fromEntries(
      [...paths].map(([path, routes]) => [
        path,
        Object.fromEntries(routes.map((one) => [one.method, operationOf(one)])),
      ]),
    ),
  };
}

function operationOf({ path, summary, query, body, answer }: ApiRoute) {
  return {
    summary,
    parameters: [
      ...Array.from(path.matchAll(/\{(\w+)\}/g), ([, name]) => ({
        name,
        in: 'path',
        required: true,
        schema: { type: 'string' },
      })),
      ...(query ? queryParameters(query) : []),
    ],
    ...(body && { requestBody: { required: false, ...content('application/json', body, 'input') } }),
    responses: {
      200: { description: 'As asked.', ...content('application/json', answer) },
      default: { description: 'Why not.', ...content('application/problem+json', problem) },
    },
  };
}

function queryParameters(query: z.ZodObject) {
  const { properties = {} } = schemaOf(query, 'input');
  return Object.entries(properties).map(([name, schema]) => ({ name, in: 'query', required: false, schema }));
}
