/** What may need a person. */
export interface Troubles {
  /** Whether a connector serves the store. */
  readonly isServed: boolean;
  /** The changed config was refused. */
  readonly isRefused: boolean;
  /** Changed keys wait for a restart. */
  readonly isWaiting: boolean;
  /** The sinks that are paused. */
  readonly down: readonly string[];
  readonly stuck: readonly { readonly sink: string; readonly dead: number; readonly held: number }[];
}

export interface Need {
  /** In a few words, as part of a list. */
  readonly words: string;
  /** With all that is known, without a full stop. */
  readonly sentence: string;
  /** The command that shows more. */
  readonly command: string;
}

/** What needs a person: the same for `status`, the pages and the weekly summary. Pure. */
export function needsOf({ isServed, isRefused, isWaiting, down, stuck }: Troubles): Need[] {
  const needs: (Need | false)[] = [
    !isServed && {
      words: 'no connector serves the store',
      sentence: 'No connector serves the store',
      command: 'status',
    },
    isRefused && {
      words: 'the changed config was refused',
      sentence: 'The changed config is refused',
      command: 'check',
    },
    isWaiting && {
      words: 'changed keys wait for a restart',
      sentence: 'Changed keys wait for a restart',
      command: 'status',
    },
    down.length > 0 && {
      words: down.map((sink) => `${sink} is paused`).join(', '),
      sentence: `Down now: ${down.join(', ')}`,
      command: 'check --live',
    },
    stuckNeed('dead', 'Given up', stuck),
    stuckNeed('held', 'Held for a person to decide', stuck),
  ];
  return needs.filter((need) => need !== false);
}

function stuckNeed(state: 'dead' | 'held', title: string, all: Troubles['stuck']): Need | false {
  const stuck = all.filter((one) => one[state] > 0);
  const total = stuck.reduce((sum, one) => sum + one[state], 0);
  const list = stuck.map((one) => `${one[state]} to ${one.sink}`).join(', ');
  const command = `events --state ${state}`;
  return total > 0 && { words: `${total} ${state}`, sentence: `${title}: ${list}`, command };
}
