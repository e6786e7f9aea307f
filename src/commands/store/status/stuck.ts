import type { Status, StuckNotice } from '../../../ops/status/status.ts';
import type { StuckCount } from '../../../store/store.ts';
import { program, shellWord } from '../../../support/invocation.ts';
import { count, printable } from '../../../support/text.ts';
import { type Io, when } from '../../output.ts';
import type { StuckState } from '../../../model.ts';

const help = {
  dead: ({ sink, cause, count: many }: StuckCount) => {
    const [ofSink, list] = [shellWord(sink), `${program} events --state dead`];
    const lists = many > 1 ? `; ${list} --sink ${ofSink} lists them` : '';
    return `fix the cause, then: ${program} replay --dead --sink ${ofSink} --cause ${shellWord(cause)}${lists}`;
  },
  held: ({ sink }: StuckCount) =>
    `look there, then replay or discard what this lists: ${program} events --state held --sink ${shellWord(sink)}`,
};

export function stuckLines(found: Status, state: StuckState, io: Io): string[] {
  const ofNotices = found.stuckNotices.filter(({ delivery }) => delivery.state === state);
  const alike = Map.groupBy(ofNotices, ({ delivery: { sink, lastError }, isOver }) =>
    JSON.stringify([sink, isOver, lastError]),
  );
  return [
    ...found[state].flatMap((stuck) => [causeText(stuck, io), `  ${printable(help[state](stuck))}`]),
    ...alike.values().flatMap((some) => noticeLines(some, io)),
  ];
}

const namedNotices = 10;

/** The lines about notices that ended alike. */
function noticeLines(alike: readonly StuckNotice[], io: Io): string[] {
  const { delivery, isOver } = alike[0]!;
  const ids = alike.slice(0, namedNotices).map((one) => one.delivery.id);
  const sink = printable(delivery.sink);
  const first = `the first of ${when(delivery.createdAt, io)}: ${printable(delivery.lastError ?? '')}`;
  const helps = isOver
    ? `nobody has to be told any more: ${program} discard --over`
    : `fix the cause, then: ${program} replay ${ids.join(' ')}`;
  return [
    `${count(alike.length, 'notice')} to ${sink}${isOver ? ' of what is over' : ''}, ${first}`,
    `  ${helps}; ${program} events --notices lists them`,
  ];
}

export const causeText = ({ sink, count: many, firstAt, reason }: StuckCount, io: Io): string =>
  `${many} to ${printable(sink)}, the first at ${when(firstAt, io)}: ${printable(reason)}`;
