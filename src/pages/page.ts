import type { Request } from 'express';
import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';
import type { LoadOptions } from '../config/load.ts';
import type { FindPlan } from '../config/live/stored-plans.ts';
import { fieldsOf, type Person, personOf } from '../admin/access.ts';
import type { Announcer } from '../ops/announcer.ts';
import type { RefusedFigures } from '../ops/refused.ts';
import type { Status } from '../ops/status/status.ts';
import type { Accept } from '../intake.ts';
import { withoutPersonal } from '../lookups/kept-facts.ts';
import type { By, EventDetail, Reads, Store } from '../store/store.ts';
import type { Trials } from '../backtest/trials.ts';
import type { Clock } from '../support/clock.ts';
import { html, type Html } from '../support/html.ts';
import type { Times } from './frame/times.ts';
import { inParts } from '../store/paging.ts';
import type { Delivery } from '../model.ts';

/** The parts of the connector that pages and API use. */
export interface Parts extends Pick<LoadOptions, 'env' | 'connectors'> {
  /** For changes. */
  readonly store: Store;
  /** For reads; they never hold up the storing of events. */
  readonly reads: Reads;
  /** Refused events that are not in the store yet. */
  readonly refused: RefusedFigures;
  readonly announcer: Pick<Announcer, 'state'>;
  /** The clock that all replicas share. */
  readonly clock: Pick<Clock, 'now'>;
  readonly config: () => Config;
  /** Finds the plan that an event was decided by. */
  readonly plan: FindPlan;
  /** The URL that the testing service posts events to. */
  readonly receiverUrl: () => string;
  /** The text of the config in force, with references such as `${TOKEN}` as written. */
  readonly configText: () => string;
  readonly trials: Trials;
  readonly accept: Accept;
  /** Makes the worker look for due deliveries; to be called after a change. */
  readonly wake: () => void;
  readonly log: Pick<Logger, 'error'>;
}

/** A request for a page. */
export interface PageRequest {
  readonly path: string;
  /** Parameters of the path, such as `id` of `/events/:id`. */
  readonly params: { readonly [name: string]: string | undefined };
  /** Parameters of the query that were given once and are not empty. */
  readonly query: { readonly [name: string]: string | undefined };
  readonly person: Person;
  /** The name of this connector: `admin.title`, or else the product's. */
  readonly site: string;
  readonly now: number;
  readonly times: Times;
  /** Reads the status, once per request, so that the page and its menu agree. */
  readonly status: () => Promise<Status>;
}

export interface PageContent {
  /** The heading, and the title of the browser's tab. */
  readonly title: string;
  readonly body: Html;
  /** Markup beside the heading. */
  readonly beside?: Html;
  /** HTTP status. Default: 200. */
  readonly status?: number;
  /** Send the body alone, for a script of ours. */
  readonly isPart?: true;
  /** An HTML document from outside, such as a mail, to send in place of the page. It is shown in a frame. */
  readonly foreign?: string;
}

export interface Page {
  /** A pattern of express. */
  readonly path: string;
  /** The page's name in the menu. The menu has the order of the list in site.ts. */
  readonly menu?: string;
  /** Resolves to the page, to the path to redirect to, or to null where there is no such thing (404). */
  show(asked: PageRequest, parts: Parts): Promise<PageContent | string | null>;
}

/** A form sent from one of our pages; its token has been checked. */
export interface FormRequest extends PageRequest {
  readonly form: { readonly [name: string]: string | undefined };
  /** The values of its field `id`, such as ticked boxes. */
  readonly ids: readonly string[];
  /** The person who makes the change, for the audit. */
  readonly by: By;
}

/** Handles the POST of a form. */
export interface Form {
  readonly path: string;
  /** Resolves to the path to redirect to, to a page to show, or to null where there is no such thing (404). */
  carryOut(sent: FormRequest, parts: Parts): Promise<string | PageContent | null>;
}

/** The author of a change, for the audit. `where`: `the page` or `the API`. */
export function byOf(req: Request, where: string): By {
  const { who, from } = personOf(req);
  return { who, from: `${where}, ${from}`, note: fieldsOf(req)['note']?.trim().slice(0, 500) || null };
}

/** The hidden field without which a form is refused. */
export const csrfField = ({ person: { csrf } }: PageRequest): Html =>
  html`<input type="hidden" name="csrf" value="${csrf ?? ''}" />`;

/** The story of an event: the whole of it, and as this person may see it. Null if there is no such event. */
export async function storyFor(
  { role }: Person,
  { reads }: Parts,
  id: string,
): Promise<{ readonly story: EventDetail; readonly shown: EventDetail } | null> {
  const story = await reads.event(id);
  return story && { story, shown: role === 'viewer' ? withoutPersonal(story) : story };
}

/** The story of the event of each delivery; null for a delivery of a notice. */
export async function storiesOf(
  found: readonly Delivery[],
  reads: Reads,
): Promise<ReadonlyMap<Delivery, EventDetail | null>> {
  const stories = await inParts(found, async ({ eventId }) =>
    eventId === null ? null : reads.event(eventId),
  );
  return new Map(found.map((one, place) => [one, stories[place] ?? null]));
}
