import type { Attempt, Delivery } from '../model.ts';
import type { DeliveryStory } from '../store/store.ts';
import { printable } from '../support/text.ts';
import type { Io } from './io.ts';
import { paintState, when } from './paint.ts';

/** A delivery in a list, on one line. */
export function deliveryLine(one: Delivery, io: Io): string {
  const error = one.lastError === null ? '' : `: ${printable(one.lastError)}`;
  return `    ${one.sink}  ${stateText(one, io)}  ${one.id}${error}`;
}

/** A delivery with its message and attempts, a line for each. */
export function deliveryText(one: DeliveryStory, io: Io): string[] {
  const stuck = one.state === 'dead' || one.state === 'held';
  return [
    `  ${one.sink}  ${stateText(one, io)}  ${one.id}  (rule ${one.rule}, action ${one.action + 1})`,
    ...(one.carrier === null || one.carrier === one.id
      ? []
      : [`    in the digest that went out as ${one.carrier}`]),
    ...(one.message === null ? [] : [`    message ${printable(JSON.stringify(one.message))}`]),
    ...one.history.map((attempt) => `    ${attemptText(attempt)}`),
    ...(stuck ? [`    ${printable(one.lastError ?? '')}`] : []),
  ];
}

function stateText({ state, dueAt }: Delivery, io: Io): string {
  return paintState(io, state) + (state === 'pending' ? `, due ${when(dueAt)}` : '');
}

function attemptText({ number, startedAt, outcome }: Attempt): string {
  const head = `attempt ${number}  ${when(startedAt)}  ${outcome.outcome}`;
  if (outcome.outcome !== 'delivered') return `${head} (${outcome.reason}): ${printable(outcome.detail)}`;
  const note = outcome.note === undefined ? '' : `  ${printable(outcome.note)}`;
  return `${head}: ${printable(JSON.stringify(outcome.receipt))}${note}`;
}
