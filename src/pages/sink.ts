import { holdsBack } from '../ops/pauses.ts';
import { pauseLength } from '../by-hand/sinks.ts';
import { type Delivery, lookupOf } from '../model.ts';
import { askedUntil, isGone, mayBeTried, putBack, toolsWish } from '../ops/sink-states.ts';
import type { SinkStatus } from '../ops/status/status.ts';
import type { Reads, SinkAttempt } from '../store/store.ts';
import { html, type Html } from '../support/html.ts';
import { printable } from '../support/text.ts';
import { pause, resume, tryNow } from './changes/sinks.ts';
import { type Asking, askingForm, askingPage, type Choice } from './frame/asking.ts';
import { arrivedChart, chartFigure, delayChart, lastDays } from './frame/charts.ts';
import {
  amount,
  candidateName,
  chip,
  counted,
  dueShown,
  knownOf,
  outcomeNames,
  pausedBy,
  subjectOf,
  toolOf,
  waitForIt,
} from './frame/fragments.ts';
import { duration, type Times } from './frame/times.ts';
import { askedNotes, elsewhereNote, nextTry, sinkChip, sinkRate } from './frame/troubles.ts';
import { type Form, type FormRequest, type Page, type PageRequest, type Parts, storiesOf } from './page.ts';

/** The page of one sink: its state, what the tool answered lately, what waits for it; and the forms to try, pause and resume it. */

const shownAttempts = 20;
const shownWaiting = 20;

export const sinkPage: Page = {
  path: '/sinks/:sink',
  async show(asked, parts) {
    const sink = asked.params['sink'] ?? '';
    const status = await asked.status();
    const found = status.sinks.find((one) => one.sink === sink);
    if (found === undefined) return null;
    const [{ labels, counts }, attempts, waiting] = await Promise.all([
      lastDays(parts.reads, asked.times),
      parts.reads.attemptsOfSink(sink, shownAttempts),
      waitingFor(parts.reads, found),
    ]);
    const lookups = await parts.reads.lookupsOf(attempts.map(({ eventId }) => eventId));
    const ofSink = { labels, counts: counts.filter((one) => one.sink === sink) };
    return {
      title: printable(sink),
      body: html`<div class="stack">
        ${stateCard(found, asked)}
        ${
          found.figures !== null &&
          html`<div class="grid">
            ${[arrivedChart, delayChart].map((chart) => chartFigure(chart(ofSink)))}
          </div>`
        }
        ${found.pending > 0 && waitingCard(found, waiting, asked, parts)}
        ${attempts.length > 0 && attemptsCard(attempts, lookups, asked)}
      </div>`,
    };
  },
};

function stateCard(one: SinkStatus, asked: PageRequest): Html {
  const { times } = asked;
  const { sink, connector, pause: paused, figures, dead, held } = one;
  const trouble = paused?.by === 'person' ? null : one.trouble;
  const stuck = dead + held;
  const tool = connector === null ? 'not in the config any more' : toolOf(sink, connector);
  return html`<section class="card">
    <p>
      ${sinkChip(one)}
      <span class="muted"
        >${tool}${tool !== '' && figures !== null && ', '}${figures?.lastSuccessAt === null && 'never worked, '}${sinkRate(one, times)}</span
      >
    </p>
    ${
      paused?.by === 'person' &&
      html`<p>
        Paused ${pausedBy(paused, times)}. What comes for it waits, and nothing is lost.
        ${paused.until === null && 'It waits until somebody resumes it.'}
      </p>`
    }
    ${
      trouble &&
      html`<p class="break">
          ${paused ? html`Paused ${pausedBy(paused, times)}` : html`Since ${times.short(trouble.since)}`}${trouble.because && html`: ${printable(trouble.because.detail)}`}
          ${paused && html`<br />${nextTry(one, times)}`}
        </p>
        ${elsewhereNote(one)}`
    }
    ${isGone(one) && html`<p>${putBack}</p>`}
    ${
      one.asked.length > 0 &&
      html`${askedNotes(one, times)}
        <p class="small muted">
          That is not sent before: a tool that is called too early may ask for longer. What is due behind it
          is tried now and then, in case that is over sooner.
        </p>`
    }
    ${stuck > 0 && html`<p><a href="/attention?sink=${sink}">${amount(stuck)} ${stuck === 1 ? 'needs' : 'need'} a person</a></p>`}
    ${lookupOf(sink) === null && asked.person.role === 'full' && buttons(one, asked)}
  </section>`;
}

/** What a question names of a sink. */
type Waiting = Pick<SinkStatus, 'sink' | 'pending' | 'asked' | 'pause'>;

const isPausedByPerson = ({ pause: paused }: Pick<SinkStatus, 'pause'>) => paused?.by === 'person';

const actions = {
  retry: {
    button: () => 'Try now',
    question: ({ sink, asked }: Waiting, times: Times) => {
      const until = askedUntil(asked);
      const wish = until === null ? '' : ` But ${toolsWish(times.whole(until))}.`;
      return `Try ${sink} now? What failed before is tried at once.${wish}`;
    },
  },
  pause: {
    button: (one: Waiting) => (isPausedByPerson(one) ? 'Change the pause' : 'Pause'),
    question: (one: Waiting) =>
      isPausedByPerson(one)
        ? `Keep ${one.sink} paused, counted from now? What waits for it goes on waiting, and nothing is lost.`
        : `Pause ${one.sink}? What comes for it waits, and nothing is lost.`,
  },
  resume: {
    button: () => 'Resume',
    question: ({ sink, pending }: Waiting) =>
      `Let ${sink} go on? ${pending === 0 ? 'Nothing waits for it.' : `${waitForIt(pending)}: what is due is sent now.`}`,
  },
} as const;
type Action = keyof typeof actions;

const lengths = [
  ['2h', '2 hours'],
  ['30m', '30 minutes'],
  ['8h', '8 hours'],
  ['1d', 'a day'],
  ['3d', '3 days'],
  ['7d', 'a week'],
  ['', 'until somebody resumes it'],
] as const;

const askingOf = (sink: string, action: Action): Asking => ({
  path: pathOf(sink, action),
  ...(action === 'pause' && {
    fields: html`<label
      >For how long
      <select name="for">
        ${lengths.map(([value, words]) => html`<option value="${value}">${words}</option>`)}
      </select></label
    >`,
  }),
});

const choiceOf = (one: Waiting, action: Action, times: Times): Choice => ({
  action,
  button: actions[action].button(one),
  question: actions[action].question(one, times),
});

function buttons(one: SinkStatus, asked: PageRequest): Html {
  const { sink } = one;
  const first: readonly Action[] = isPausedByPerson(one) ? ['resume'] : mayBeTried(one) ? ['retry'] : [];
  const all: readonly Action[] = [...first, 'pause'];
  // The forms have only this for what is not in the config any more.
  const offered = one.connector === null ? first.filter((action) => action === 'resume') : all;
  return html`<div class="actions">
    ${offered.map((action) =>
      askingForm(askingOf(sink, action), [choiceOf(one, action, asked.times)], asked, {
        isQuiet: action === 'pause',
      }),
    )}
  </div>`;
}

const pathOf = (sink: string, action?: Action): string =>
  ['/sinks', encodeURIComponent(sink), ...(action ? [action] : [])].join('/');

function formOf(
  action: Action,
  carryOut: (sent: FormRequest, parts: Parts, sink: string) => Promise<unknown>,
): Form {
  return {
    path: `/sinks/:sink/${action}`,
    async carryOut(sent, parts) {
      const sink = sent.params['sink'] ?? '';
      // What is not in the config any more may still be paused.
      if (action !== 'resume' && !parts.config().sinks.has(sink)) return null;
      if (sent.form['confirmed'] !== 'yes') {
        const found = (await sent.status()).sinks.find((one) => one.sink === sink);
        const choice = choiceOf(found ?? { sink, pending: 0, asked: [], pause: null }, action, sent.times);
        return askingPage(askingOf(sink, action), choice, pathOf(sink), sent);
      }
      await carryOut(sent, parts, sink);
      return pathOf(sink);
    },
  };
}

export const sinkForms: readonly Form[] = [
  formOf('retry', (sent, parts, sink) => tryNow(parts, sink, sent.by)),
  formOf('pause', ({ form, by }, parts, sink) => {
    const forMs = pauseLength.safeParse(form['for']);
    return pause(parts, sink, forMs.success ? forMs.data : null, by);
  }),
  formOf('resume', (sent, parts, sink) => resume(parts, sink, sent.by)),
];

async function waitingFor(reads: Reads, { sink, pending }: SinkStatus) {
  const found =
    pending === 0 ? [] : await reads.deliveries({ states: ['pending'], sink, limit: shownWaiting });
  return storiesOf(found, reads);
}

function waitingCard(
  sink: SinkStatus,
  waiting: Awaited<ReturnType<typeof waitingFor>>,
  asked: PageRequest,
  { config }: Parts,
): Html {
  const more = sink.pending - waiting.size;
  // Why the sink is paused stands above.
  const said = sink.pause?.by === 'connector' ? sink.pause.because?.detail : undefined;
  return html`<section class="card">
    <h2>Waiting <small>${counted(sink.pending, 'message')}</small></h2>
    ${
      waiting.size > 0 &&
      html`<ul class="plain spaced">
        ${[...waiting].map(
          ([one, story]) =>
            html`<li class="break">
              ${subjectOf(story, config(), asked) || 'A notice'}
              <span class="muted small"
                >${waitsUntil(one, sink, asked.times)}${one.lastError !== null && one.lastError !== said && html`: ${printable(one.lastError)}`}</span
              >
            </li>`,
        )}
      </ul>`
    }
    ${more > 0 && html`<p><a href="/events?sink=${sink.sink}&state=pending">And ${amount(more)} more</a></p>`}
  </section>`;
}

/** What a pending delivery waits for, in a few words: the page says more of the pause above. */
function waitsUntil(delivery: Delivery, { pause: paused, asked }: SinkStatus, times: Times): Html {
  const { dueAt, lane } = delivery;
  if (dueAt > times.now && !(paused && holdsBack(paused, dueAt, times.now))) return dueShown(delivery, times);
  if (paused === null && asked.some((one) => one.lane === lane))
    return html`due, and waits behind what the tool put off`;
  if (paused === null) return html`due now`;
  if (paused.by === 'connector') return html`waits until the sink works`;
  return html`waits until ${paused.until === null ? 'somebody resumes the sink' : 'the pause ends'}`;
}

const outcomeTones = { delivered: 'good', retry: 'wait', unknown: 'wait', rejected: 'bad' } as const;

function attemptsCard(
  attempts: readonly SinkAttempt[],
  lookups: readonly (readonly Delivery[])[],
  { times, person }: PageRequest,
): Html {
  const words = attempts.map(({ outcome }) =>
    outcome.outcome === 'delivered' ? outcome.note : outcome.detail,
  );
  // A tool that is down says the same many times: it is shown once.
  const isSame = (place: number) => words[place] !== undefined && words[place] === words[place - 1];
  return html`<section class="card">
    <h2>Last attempts</h2>
    <ul class="plain lines">
      ${attempts.map(
        ({ eventId, number, startedAt, endedAt, outcome, ...candidate }, place) =>
          html`<li class="break">
            ${chip(outcomeTones[outcome.outcome], outcomeNames[outcome.outcome])}
            <a href="/events/${eventId}"
              >${candidateName(candidate, knownOf(lookups[place] ?? [], person))}</a
            >
            <span class="muted small when"
              >${number > 1 && `attempt ${number}, `}${times.short(endedAt)}, took
              ${duration(Math.max(0, endedAt - startedAt))}${isSame(place) && ', the same'}</span
            >
            ${words[place] && !isSame(place) && html`<div class="small">${printable(words[place])}</div>`}
          </li>`,
      )}
    </ul>
  </section>`;
}
