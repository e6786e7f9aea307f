import { z } from 'zod';
import {
  deliverySpec,
  eventSpec,
  type FieldList,
  shownInDetail,
  shownOfDelivery,
  shownOfEvent,
  statuses,
} from '../../model.ts';
import { alertKinds, refusalReasons, refusedEventSpec, shownOfRefused } from '../../model/notices.ts';
import { outcomeKinds, reasons } from '../../model/outcomes.ts';
import { type SinkState, sinkStates } from '../../ops/sink-states.ts';

/** The schemas of the API's answers. A test compares them with the answers of a real server. */

const time = z.iso.datetime();
export const json = z.unknown();
const count = z.int().min(0);

const kinds = {
  text: z.string(),
  number: z.int(),
  time,
  flag: z.boolean(),
  json,
  map: z.record(z.string(), json),
};

/** The schema of these fields of a record, by the list that describes them. */
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
const looked = z.object({
  state: z.enum(['answered', 'waiting', 'unknown', 'absent']),
  at: time.nullable().describe('When that became so.'),
  reason: z.string().nullable(),
  fields: z
    .record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()]))
    .describe(
      'Null where the API says that there is none. Personal ones stand only where one event is asked for.',
    ),
});

const event = recordOf(eventSpec, shownOfEvent).extend({
  traceId: z.string().describe("Of W3C Trace Context: the request's, or else made of the event's id."),
  duplicates: count,
  decided: z
    .boolean()
    .describe('False while it waits for its look-ups, or for an earlier event of its candidate.'),
  facts: z.record(z.string(), looked).describe('By look-up.'),
});

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

export const story = event.extend({ deliveries: z.array(delivery) });

export const detail = event.extend({
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

export const sinkState = z.enum(Object.keys(sinkStates) as SinkState[]);

/** The fields of a sink's pause. */
const pause = {
  by: z.enum(['person', 'connector']).nullable().describe('Who paused it; null where nobody did.'),
  until: time.nullable().describe('When the pause of a person ends; null where somebody has to end it.'),
  note: z.string().nullable().describe('What that person wrote.'),
};
export const pausedSink = z.object({ sink: z.string(), state: sinkState, ...pause });

const config = z.object({
  file: z.string().nullable(),
  since: time.nullable(),
  refused: z
    .object({
      since: time,
      problem: z.string(),
      others: count,
      inForce: z.boolean().describe('A start took it, although a policy does not hold.'),
    })
    .nullable(),
  waitsForRestart: z.array(z.string()),
  adminClosed: z.string().nullable().describe('Why nobody is let in on the admin port.'),
});

const stuck = z.object({ sink: z.string(), count, reason: z.string(), since: time });

export const refused = z.object({
  reason: z
    .enum(refusalReasons)
    .describe(
      'The store could not take them, more connections were open than there is room for, the address is not allowed, the token was wrong, or the URL had another path than `receiver.path` or led to `admin.port`.',
    ),
  from: z.string().describe('An address; of IPv6 a network; `others` for all beyond 50 sources.'),
  count,
  first: time,
  last: time,
});

export const refusedEvent = recordOf(refusedEventSpec, shownOfRefused);

export const status = z.object({
  needsPerson: z.boolean(),
  needs: z.array(z.string()),
  running: z.boolean(),
  lastSignAt: time.nullable(),
  config,
  copies: z.array(z.object({ copy: z.string(), config })),
  receiver: z.object({
    lastEventAt: time.nullable(),
    eventsToday: count,
    rejectedToday: count.describe('At most 1000: no more are kept.'),
    rejectedThisWeek: count.describe('Of the last 7 days; at most 1000.'),
    unreadInARow: count.describe(
      'Events that were not valid, since the last valid one or in 7 days; 0 where there are fewer than 3.',
    ),
  }),
  storeProblem: z
    .string()
    .nullable()
    .describe('Why the store cannot be written, or what waits cannot be sent.'),
  storeRescued: z
    .string()
    .nullable()
    .describe('The file with what the store had before it was replaced in use.'),
  storeMovedAt: time
    .nullable()
    .describe('When PostgreSQL was last promoted, restored or moved, in the last week: see `status`.'),
  notServed: z
    .array(z.object({ from: time, to: time }))
    .describe(
      'The times of the last week in which no connector served the store for two minutes or longer; the 10 longest.',
    ),
  refused: z.array(refused),
  sinks: z.array(
    z.object({
      sink: z.string(),
      connector: z.string().nullable(),
      state: sinkState,
      paused: z.boolean(),
      ...pause,
      since: time.nullable(),
      reason: z.string().nullable(),
      nextProbeAt: time.nullable().describe('Of a paused one. Null if only the next message tells.'),
      askedToWait: z
        .array(
          z.object({
            place: z.string().nullable().describe('Such as a channel. null: the sink has no such places.'),
            until: time.describe('By what the tool said last.'),
            reason: z.string(),
            refused: count.describe('Pending deliveries that the tool told to come later.'),
            behind: count.describe('Further ones that are due there.'),
          }),
        )
        .describe('What waits because the tool asked for it.'),
      lastSuccessAt: time.nullable(),
      attempts: count.describe('Of the last hour.'),
      failures: count.describe('Of these, those that delivered nothing.'),
      pending: count,
      dead: count,
      held: count,
    }),
  ),
  lookups: z.array(
    z.object({
      lookup: z.string(),
      state: sinkState,
      since: time.nullable(),
      reason: z.string().nullable(),
      waiting: count.describe('Events that wait for it.'),
      empty: z
        .object({
          calls: count.describe('In a row, up to the last one.'),
          fields: z
            .array(z.string())
            .nullable()
            .describe('What all their answers lacked; null if nothing was found.'),
          didFind: z
            .boolean()
            .describe('Whether nearly all earlier calls found it, so that a person is needed.'),
        })
        .nullable()
        .describe('What its last calls did not find.'),
    }),
  ),
  oldestPendingAt: time.nullable(),
  failing: z.array(stuck).describe('Pending for an hour of failed attempts, in sinks that work for others.'),
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

export const route = z.object({
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
  nobodyIf: z.nullable(z.string()),
  meant: z.boolean(),
  twice: z.boolean(),
});

export const policy = z.object({
  policy: json.describe('As the config has it.'),
  holds: z.boolean().nullable().describe('null: it could not be proven.'),
  example: z
    .object({
      at: time,
      event: z.record(z.string(), json).describe('As a scenario has it.'),
      messages: z.array(z.object({ rule: z.string(), action: z.int(), sink: z.string() })),
    })
    .nullable()
    .describe('An event that breaks it.'),
  why: z.string().nullable().describe('What is in the way of a proof.'),
});
