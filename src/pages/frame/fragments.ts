import { catalogName } from '../../config/catalog.ts';
import type { Config } from '../../config/config.ts';
import type { Person } from '../../admin/access.ts';
import { foundBy } from '../../lookups/kept-facts.ts';
import type { Delivery, DeliveryState, Event, Status } from '../../model.ts';
import type { Outcome } from '../../model/outcomes.ts';
import {
  dueWords,
  holdsBack,
  isAhead,
  nextTryWords,
  type Obstacles,
  type Pause,
  pausedWords,
} from '../../ops/pauses.ts';
import type { EventDetail, EventStory } from '../../store/store.ts';
import { valueAt } from '../../support/json.ts';
import { count, printable } from '../../support/text.ts';
import { html, type Html } from '../../support/html.ts';
import type { Times } from './times.ts';

/** Pieces that several pages are made of. */

const withSeparators = new Intl.NumberFormat('en-GB');

/** `1,234`. */
export const amount = (many: number): string => withSeparators.format(many);

/** `1,234 deliveries`. */
export const counted = (many: number, word: string): string =>
  count(many, word).replace(String(many), amount(many));

/** `3 messages wait for it`. */
export const waitForIt = (many: number): string =>
  `${counted(many, 'message')} ${many === 1 ? 'waits' : 'wait'} for it`;

type Tone = 'good' | 'wait' | 'bad' | 'idle';

/** A short text on a colour. `title`: the word that configs and commands use, where people use another one. */
export const chip = (tone: Tone, text: string | Html, title?: string): Html =>
  title === undefined
    ? html`<span class="chip ${tone}">${text}</span>`
    : html`<span class="chip ${tone}" title="${title}">${text}</span>`;

export const tones: { readonly [state in DeliveryState]: Tone } = {
  pending: 'wait',
  sending: 'wait',
  delivered: 'good',
  dead: 'bad',
  held: 'bad',
  discarded: 'idle',
};

/** The states of deliveries in the words of people: "dead" could be taken for the state of a tool. */
export const stateNames: { readonly [state in DeliveryState]: string } = {
  pending: 'waiting',
  sending: 'under way',
  delivered: 'delivered',
  dead: 'given up',
  held: 'held',
  discarded: 'discarded',
};

/** The outcomes of attempts in the words of people. */
export const outcomeNames: { readonly [outcome in Outcome['outcome']]: string } = {
  delivered: 'delivered',
  retry: 'did not work',
  rejected: 'refused',
  unknown: 'may have arrived',
};

/** A message whose time has not come waits as it should. */
export const stateChip = (delivery: Delivery, now: number): Html =>
  chip(isAhead(delivery, now) ? 'idle' : tones[delivery.state], stateNames[delivery.state]);

export const statusNames: { readonly [status in Status]: string } = {
  Completed: 'Completed',
  DidNotTake: 'Did not take',
  Canceled: 'Canceled',
};

/** The connector of a sink; empty where the sink has the same name. */
export const toolOf = (sink: string, connector: string): string => (sink === connector ? '' : connector);

/** A rule by its name, in quotes: some names read as words of the sentence, such as "completed". */
export const ruleName = (rule: string): string => `rule “${printable(rule)}”`;

export const badNotice = (text: string): Html => html`<p class="notice bad">${text}</p>`;

/**
 * A command to be copied, or a part of one. It wraps at its blanks, where a line has room for each of its words: a browser
 * would also break after each hyphen, in the middle of a flag.
 */
export const commandLine = (line: string): Html => {
  const words = line.split(' ').map((word, at) => html`${at > 0 && ' '}<span>${word}</span>`);
  return html`<code class="command">${words}</code>`;
};

/** A text with this command in it. */
export const withCommand = (text: string, command: string): Html => {
  const [before, ...parts] = text.split(command);
  return html`${before}${parts.map((part) => html`${commandLine(command)}${part}`)}`;
};

/** A text with commands in backticks. */
export const withCommands = (text: string): Html =>
  html`${text.split('`').map((part, at) => (at % 2 === 0 ? part : commandLine(part)))}`;

/** When a delivery is due that is not yet, and why only then. */
export const dueShown = (delivery: Delivery, times: Times): Html =>
  html`due ${times.ahead(delivery.dueAt)}${dueWords(delivery, times.now)}`;

/** What a pending delivery waits for; null for one in another state. */
export function waitsFor(delivery: Delivery, { pauses, asked }: Obstacles, times: Times): Html | null {
  if (delivery.state !== 'pending') return null;
  const { dueAt } = delivery;
  const pause = pauses.get(delivery.sink);
  const due = dueAt > times.now && dueShown(delivery, times);
  if (due && !(pause && holdsBack(pause, dueAt, times.now))) return due;
  if (pause === undefined) {
    const wait = asked.get(delivery.lane);
    if (!wait) return html`due now`;
    const reason = printable(wait.reason.replace(/\.$/, ''));
    return html`until ${times.short(wait.until)}, as the tool asked (${reason})`;
  }
  const next = nextTryWords(pause, times.now, (time) => times.relative(time));
  const then = pause.by === 'person' && due && html`; ${due}`;
  return html`${printable(delivery.sink)} is paused ${pausedBy(pause, times)}${next}${then}`;
}

/** What follows "paused" in a sentence. */
export const pausedBy = (pause: Pause, times: Times): Html =>
  html`${pausedWords(pause, (time) => times.short(time))}`;

/** The name of a test: the catalog's, or `Test 7`. */
export const testName = ({ planSource }: Config, testId: number): string =>
  printable(catalogName(planSource, testId)) || `Test ${testId}`;

/** The ids and names of the catalog. */
export function testsOf({ planSource }: Config): (readonly [id: string, name: string])[] {
  const catalog = valueAt(planSource, ['catalog']) ?? {};
  return Object.keys(catalog).map((id) => [id, printable(catalogName(planSource, id)) || id]);
}

/** In characters: ids up to so long are shown whole. */
const wholeId = 16;

/** An id as messages have it: its beginning, or all of a short one. */
export const shortId = (id: string): string => {
  const characters = Array.from(id);
  return printable(characters.length <= wholeId ? id : `${characters.slice(0, 8).join('')}…`);
};

/** What look-ups found out about a candidate, in words; empty where nothing is known. */
interface Known {
  readonly name: string;
  readonly score: string;
}

/** The name and score that were looked up, as far as this person may see them. Only a completed test has a score. */
export function knownOf(lookups: readonly Delivery[], { role }: Person, status?: Status): Known {
  const found = foundBy(lookups, role === 'viewer' ? 'public' : 'all')['candidate']?.fields;
  const name = found?.['name'];
  const score = status === 'Completed' ? found?.['score'] : null;
  const scored = typeof score === 'number' ? `${amount(score)}%` : printable(String(score ?? ''));
  return { name: printable(String(name ?? '').trim()), score: scored };
}

/** `4711, Ana Kovač`: a candidate's number, or short id, with the name where it is known. */
export function candidateName(
  { candidateId, candidateNumericalId }: Pick<Event, 'candidateId' | 'candidateNumericalId'>,
  { name }: Pick<Known, 'name'> = { name: '' },
): string {
  const number = candidateNumericalId === null ? shortId(candidateId) : String(candidateNumericalId);
  return name === '' ? number : `${number}, ${name}`;
}

/** Whom a delivery is about, by the story of its event; false without one. */
export function subjectOf(
  story: EventDetail | null | undefined,
  config: Config,
  { person, times }: { readonly person: Person; readonly times: Times },
): Html | false {
  if (!story) return false;
  const { event, lookups } = story;
  return html`<a href="/events/${event.id}">${candidateName(event, knownOf(lookups, person))}</a>
    ${statusNames[event.status]}, ${testName(config, event.testId)}, ${times.short(event.receivedAt)}`;
}

/** An id, shortened or as `shown`, with a button that copies all of it. `name`: what kind of id it is. */
export const copiedId = (id: string, name: string, shown: Html | string = shortId(id)): Html =>
  html`<span class="id" title="${printable(id)}">${shown}</span
    ><button
      type="button"
      class="copy"
      data-copy="${id}"
      aria-label="Copy the ${name}"
      title="Copy the ${name}"
    >
      <svg viewBox="0 0 16 16" aria-hidden="true">
        <path d="M5.5 5.5v-3h8v8h-3M2.5 5.5h8v8h-8z" />
      </svg>
    </button>`;

/**
 * An event's deliveries in one line: those that need somebody first, those that were delivered last and quietly. One whose
 * time has not come says when that is.
 */
export function deliveryLine(
  { decided, deliveries }: Pick<EventStory, 'decided' | 'deliveries'>,
  times: Times,
): Html {
  if (!decided) return chip('wait', 'to be decided');
  if (deliveries.length === 0) return html`<span class="muted">nobody was told</span>`;
  const ahead = deliveries.filter((one) => isAhead(one, times.now));
  const sinksIn = (state: DeliveryState) => {
    const inState = deliveries.filter((one) => one.state === state && !ahead.includes(one));
    return [...Map.groupBy(inState, ({ sink }) => printable(sink))].map(([sink, all]) =>
      all.length === 1 ? sink : `${sink} ×${all.length}`,
    );
  };
  const loud = (['dead', 'held', 'sending', 'pending', 'discarded'] as const).flatMap((state) =>
    sinksIn(state).map((sink) => chip(tones[state], `${sink}: ${stateNames[state]}`)),
  );
  const later = ahead.map(({ sink, dueAt }) =>
    chip('idle', html`${printable(sink)}: due ${times.ahead(dueAt)}`, stateNames.pending),
  );
  const delivered = sinksIn('delivered');
  return html`${loud}${later}${
    delivered.length > 0 &&
    html`<span class="muted" title="delivered: ${delivered.join(', ')}"
      ><span aria-hidden="true">✓</span><span class="hidden">delivered:</span> ${delivered.join(', ')}</span
    >`
  }`;
}
