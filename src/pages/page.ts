import type { Request } from 'express';
import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';
import type { LoadOptions } from '../config/load.ts';
import type { FindPlan } from '../config/live/stored-plans.ts';
import { fieldsOf, type Person, personOf } from '../admin/access.ts';
import type { RefusedFigures } from '../ops/refused.ts';
import type { Status } from '../ops/status/status.ts';
import type { Accept } from '../intake.ts';
import { withoutPersonal } from '../lookups/kept-facts.ts';
import type { By, EventDetail, Reads, Store } from '../store/store.ts';
import type { Trials } from '../config/live/trials.ts';
import type { Clock } from '../support/clock.ts';
import { html, type Html, safeUrl } from '../support/html.ts';
import type { Times } from './frame/times.ts';

/** What the pages and the API need of the connector. */
export interface Parts extends Pick<LoadOptions, 'env' | 'connectors'> {
  /** To change something. */
  readonly store: Store;
  /** To look at something; it holds up nobody who sends events. */
  readonly reads: Reads;
  /** What the store does not know yet. */
  readonly refused: RefusedFigures;
  /** The one that all replicas go by. */
  readonly clock: Pick<Clock, 'now'>;
  readonly config: () => Config;
  /** The plan that an event was decided by. */
  readonly plan: FindPlan;
  /** Where the testing service posts its events. */
  readonly receiverUrl: () => string;
  /** What the config in force was read from, with its references as written. */
  readonly configText: () => string;
  readonly trials: Trials;
  /** Takes in an event. */
  readonly accept: Accept;
  /** After a change: deliveries may be due. */
  readonly wake: () => void;
  readonly log: Pick<Logger, 'error'>;
}

/** A request, as a page needs it. */
export interface PageRequest {
  readonly path: string;
  /** Of the path, as `id` of `/events/:id`. */
  readonly params: { readonly [name: string]: string | undefined };
  /** Of the query: what was given once, and is not empty. */
  readonly query: { readonly [name: string]: string | undefined };
  readonly person: Person;
  /** What this connector is called. */
  readonly site: string;
  readonly now: number;
  readonly times: Times;
  /** Read once, when it is asked for: what a page says of it and what the menu does is the same. */
  readonly status: () => Promise<Status>;
}

export interface PageContent {
  /** Of the browser's tab and the page's heading. */
  readonly title: string;
  readonly body: Html;
  /** Stands beside the heading. */
  readonly beside?: Html;
  /** Default: 200. */
  readonly status?: number;
  /** Only the body is sent, for a script of ours. */
  readonly isPart?: true;
  /** A whole document of somebody else, to be shown in a frame instead of all this. */
  readonly foreign?: string;
}

export interface Page {
  /** As express has it. */
  readonly path: string;
  /** Its name in the menu, which has the pages in the order of the list in site.ts. */
  readonly menu?: string;
  /** A text is the page to go to instead. Null: there is no such thing, as with a wrong id. */
  show(asked: PageRequest, parts: Parts): Promise<PageContent | string | null>;
}

/** A form that was sent from one of our pages: that is known by then. */
export interface FormRequest extends PageRequest {
  readonly form: { readonly [name: string]: string | undefined };
  /** What was ticked: `id`, which may come several times. */
  readonly ids: readonly string[];
  /** Who changes something, for the audit. */
  readonly by: By;
}

/** What changes something: a POST to its path. */
export interface Form {
  readonly path: string;
  /** The page to go to, as a path of this site; or a page to show; null as for pages. */
  carryOut(sent: FormRequest, parts: Parts): Promise<string | PageContent | null>;
}

/** Who sent a request, `where` its form or program is, and the note that it came with. */
export function byOf(req: Request, where: string): By {
  const { who, from } = personOf(req);
  return { who, from: `${where}, ${from}`, note: fieldsOf(req)['note']?.trim().slice(0, 500) || null };
}

/** A form that changes something has this in it: without it, it is refused. */
export const csrfField = ({ person: { csrf } }: PageRequest): Html =>
  html`<input type="hidden" name="csrf" value="${csrf ?? ''}" />`;

/** An event's story, as this person may see it. */
export async function storyFor(
  { role }: Person,
  { reads }: Parts,
  id: string,
): Promise<{ readonly story: EventDetail; readonly shown: EventDetail } | null> {
  const story = await reads.event(id);
  return story && { story, shown: role === 'viewer' ? withoutPersonal(story) : story };
}

/** Buttons that change something; nothing for who may only look. */
export const actionsForm = (path: string, inside: Html, asked: PageRequest): Html =>
  html`${
    asked.person.role === 'full' &&
    html`<form class="actions" method="post" action="${safeUrl(path)}">${csrfField(asked)} ${inside}</form>`
  }`;
