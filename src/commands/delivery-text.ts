import type { Attempt } from '../model.ts';
import type { DeliveryStory } from '../store/store.ts';
import type { Io } from './io.ts';
import { paintState, printable, when } from './paint.ts';

/** A delivery with its message and attempts, a line for each. */
export function deliveryText(one: DeliveryStory, io: Io): string[] {
  const due = one.state === 'pending' ? `, due ${when(one.dueAt)}` : '';
  const stuck = one.state === 'dead' || one.state === 'held';
  return [
    `  ${one.sink}  ${paintState(io, one.state)}${due}  ${one.id}  (rule ${one.rule}, action ${one.action + 1})`,
    ...(one.carrier === null || one.carrier === one.id
      ? []
      : [`    in the digest that went out as ${one.carrier}`]),
    ...(one.message === null ? [] : [`    message ${printable(JSON.stringify(one.message))}`]),
    ...one.history.map((attempt) => `    ${attemptText(attempt)}`),
    ...(stuck ? [`    ${printable(one.lastError ?? '')}`] : []),
  ];
}

function attemptText({ number, startedAt, outcome }: Attempt): string {
  const head = `attempt ${number}  ${when(startedAt)}  ${outcome.outcome}`;
  if (outcome.outcome !== 'delivered') return `${head} (${outcome.reason}): ${printable(outcome.detail)}`;
  const note = outcome.note === undefined ? '' : `  ${printable(outcome.note)}`;
  return `${head}: ${printable(JSON.stringify(outcome.receipt))}${note}`;
}
