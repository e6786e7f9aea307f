import { html, type Html } from '../../support/html.ts';
import { program } from '../../support/invocation.ts';
import { type Asking, askingForm, askingPage, type Choice, notUnderstood } from '../frame/asking.ts';
import type { Form, PageRequest } from '../page.ts';
import { type Action, actionNames, start } from './run.ts';
import { commandLine } from '../frame/fragments.ts';
import { isStuck, type StuckState } from '../../model.ts';

/** The forms that replay or discard deliveries, and their questions. */

/** The deliveries that a form is about. */
export interface Chosen {
  /** Their ids. Where empty: all deliveries with these states, this sink and this cause. */
  readonly ids: readonly string[];
  readonly states: readonly StuckState[];
  readonly sink: string;
  readonly cause?: string | undefined;
  /** How many they were when the page was made. */
  readonly count: number;
  /** How many of them may have arrived. */
  readonly doubt: Doubt;
}

type Doubt = 'none' | 'some' | 'all';

export const doubtOf = (doubtful: number, all: number): Doubt =>
  doubtful === 0 ? 'none' : doubtful < all ? 'some' : 'all';

/** A sentence on whether people may get a message twice. */
function twice(doubt: Doubt, isOne: boolean): string {
  if (doubt === 'none')
    return isOne
      ? 'It has not arrived, so nobody gets it twice.'
      : 'None has arrived, so nobody gets one twice.';
  const which = isOne ? 'It' : doubt === 'some' ? 'Some of them' : 'They';
  return `${which} may have arrived already: where the tool cannot tell, people get ${isOne ? 'it' : 'them'} twice.`;
}

const questions = {
  replay: (which: string, doubt: Doubt, isOne: boolean) =>
    `Send ${which} again, by the config in force? ${twice(doubt, isOne)}`,
  discard: (which: string) => `Discard ${which} for good? Nothing will be sent.`,
};

/** What the two buttons do; or, for somebody who has none, how it is done otherwise. */
export const changesExplained = (asked: PageRequest): Html =>
  asked.person.role === 'full'
    ? html`<p class="muted small">
        <b>Replay</b> sends a message again, by the config in force. <b>Discard</b> ends it for good: nothing
        is sent.
      </p>`
    : asked.person.role === 'open'
      ? html`<p class="muted small">
          This page only shows, as there is no <code>admin.password</code>. The commands
          <code>replay</code> and <code>discard</code> do it: ${commandLine(`${program} status`)} has them
          ready.
        </p>`
      : html`<p class="muted small">You can only look here: ask somebody who may replay or discard.</p>`;

/** `until`: when the page was made (ms). A form may be sent hours later, and is not about what is dead or held since. */
const askingOf = ({ ids, states, sink, cause, count: many, doubt }: Chosen, until: number): Asking => ({
  path: '/attention/change',
  about: { id: ids, states: states.join(' '), sink, cause, until, count: many, doubt },
});

/** `which`: the deliveries, in the question; `many`: the same on the button. */
const choiceOf = (
  action: Action,
  which: string,
  { doubt, count: of }: Pick<Chosen, 'doubt' | 'count'>,
  many = '',
  label?: string,
): Choice => ({
  action,
  button: `${actionNames[action].button} ${many}`.trim(),
  question: questions[action](which, doubt, of === 1),
  label,
});
const allActions: readonly Action[] = ['replay', 'discard'];

const whichOf = ({ count: many, sink }: Chosen): string =>
  `${many === 1 ? 'this message' : `these ${many} messages`} to ${sink}`;

/** The two buttons for some deliveries. `many`: added to their names. */
export function choiceForm(chosen: Chosen, many: string, asked: PageRequest): Html {
  const [alone] = chosen.ids;
  const label = `to ${chosen.sink}`;
  const choices = allActions.map((action) => choiceOf(action, whichOf(chosen), chosen, many, label));
  return askingForm(askingOf(chosen, asked.now), choices, asked, { isQuiet: alone !== undefined });
}

/** The two buttons for those of a list that are ticked. */
export function tickForm(
  { sink, doubt }: Pick<Chosen, 'sink' | 'doubt'>,
  boxes: Html,
  asked: PageRequest,
): Html {
  const chosen: Chosen = { ids: [], states: [], sink, count: 0, doubt };
  const choices = allActions.map((action) =>
    choiceOf(action, `the selected messages to ${sink} ({count})`, chosen, 'selected'),
  );
  return askingForm(askingOf(chosen, asked.now), choices, asked, { boxes });
}

export const changeForm: Form = {
  path: '/attention/change',
  async carryOut(sent, parts) {
    const { ids } = sent;
    const { action, states = '', sink = '', cause, count: many, doubt: given, confirmed } = sent.form;
    const until = Number(sent.form['until']);
    const named = states.split(' ').filter(isStuck);
    if (action !== 'replay' && action !== 'discard') return notUnderstood;
    const isBounded = named.length > 0 && sink !== '' && Number.isSafeInteger(until);
    if (ids.length === 0 && !isBounded) return notUnderstood;
    const doubt = given === 'none' || given === 'all' ? given : 'some';
    const chosen: Chosen = { ids, states: named, sink, cause, count: ids.length || Number(many) || 0, doubt };
    if (confirmed !== 'yes')
      return askingPage(
        askingOf(chosen, until),
        choiceOf(action, whichOf(chosen), chosen),
        '/attention',
        sent,
      );
    return `/attention/changes/${await start(parts, action, { ...chosen, until }, sent.by)}`;
  },
};
