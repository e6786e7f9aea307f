import type { SinkConfig } from '../config/config.ts';
import { rejected, type Subject } from '../connector.ts';
import type { ActionRef, Event, Json, Outcome, RaisedNotice } from '../model.ts';
import { type Action, allActions, type Plan } from '../rules/plan.ts';
import {
  type AnyTemplateData,
  digestData,
  eventData,
  noticeData,
  noticeFields,
  templateData,
} from '../templates/data.ts';

/** A delivery's message as its connector will send it. */
export interface Prepared {
  readonly message: Json;
  readonly thread: string | null;
  readonly note: string | undefined;
}

/** What a message tells of: see Claimed. */
export interface Told {
  readonly events: readonly Event[];
  readonly notice: RaisedNotice | null;
}

/** Renders an action and lets the connector compose the message. Pure; `now` is for templates. */
export function prepare(
  action: Action,
  told: Told,
  deliveryId: string,
  plan: Plan,
  { connector, options }: Pick<SinkConfig, 'connector' | 'options'>,
  now: number,
): Prepared | Outcome {
  const rendered = action.render(dataOf(action, told, plan, now));
  if ('fault' in rendered) {
    return rejected('invalid', rendered.fault, 'Mend the template in the config, then replay this delivery.');
  }
  const composed = connector.compose(
    rendered.fields,
    { deliveryId, subject: subjectOf(action, told) },
    options,
  );
  if ('rejected' in composed) return composed.rejected;
  return {
    message: composed.message,
    thread: connector.thread?.(composed.message) ?? null,
    note: composed.note,
  };
}

/** What the templates of an action see. */
export function dataOf(action: Action, { events, notice }: Told, plan: Plan, now: number): AnyTemplateData {
  if (notice) return noticeData(notice, action.rule, now);
  if (action.digest) return digestData(events, (testId) => plan.test(testId), action.rule, now);
  const [event] = events;
  if (!event) throw new Error('a message tells of an event or of a notice');
  return templateData(event, plan.test(event.testId), action.rule, now);
}

function subjectOf({ digest }: Action, { events, notice }: Told): Subject {
  if (notice) return { kind: 'notice', notice: noticeFields(notice) };
  const [first] = events;
  if (digest || !first) return { kind: 'digest', events: events.map(eventData) };
  return { kind: 'event', event: eventData(first) };
}

const indexes = new WeakMap<Plan, ReadonlyMap<string, Action>>();

/** An action of a plan by its rule's name and its place in the rule's `then`; alerts' are found too. Looked up once per delivery, so indexed. */
export function actionOf(plan: Plan, ref: ActionRef): Action | undefined {
  let index = indexes.get(plan);
  if (!index) {
    index = new Map(allActions(plan).map((action) => [keyOf(action), action]));
    indexes.set(plan, index);
  }
  return index.get(keyOf(ref));
}

const keyOf = (ref: ActionRef): string => `${ref.action} ${ref.rule}`;
