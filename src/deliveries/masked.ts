import { mapLeaves } from '../support/json.ts';
import type { Json, Outcome, Receipt } from '../model.ts';
import type { Carried } from './carry-out.ts';

export type Mask = (text: string) => string;

/**
 * What is kept and shown never has a secret in it, whatever a template or a tool put there. Masked text by text, and
 * never a word of ours: a secret may look like a number, like `false`, or like the name of an outcome.
 */
export function masked({ claimed, prepared, ending }: Carried, mask: Mask): Carried {
  return {
    claimed,
    prepared: prepared && {
      ...prepared,
      message: maskTexts(prepared.message, mask),
    },
    ending: { ...ending, outcome: maskOutcome(ending.outcome, mask) },
  };
}

/** `progress` stays as it is: it is handed back to the connector, which would do again what it does not find there. */
function maskOutcome(outcome: Outcome, mask: Mask): Outcome {
  if (outcome.outcome === 'delivered') {
    const { note } = outcome;
    const receipt = maskTexts(outcome.receipt, mask) as Receipt;
    return { ...outcome, receipt, ...(note !== undefined && { note: mask(note) }) };
  }
  const detail = mask(outcome.detail);
  return outcome.outcome === 'rejected'
    ? { ...outcome, detail, advice: mask(outcome.advice) }
    : { ...outcome, detail };
}

/** The value with its texts masked, wherever they are in it. */
export function maskTexts(value: Json, mask: Mask): Json {
  return mapLeaves(value, (leaf) => (typeof leaf === 'string' ? mask(leaf) : (leaf as Json)));
}

const wordless = "The details could not be kept, by a fault of the connector's own; its log has it.";

/**
 * How it ended and nothing else, for what cannot be masked or stored: that a message went out must be known, or it would
 * go out again.
 */
export function withoutWords({ claimed, ending }: Carried): Carried {
  return { claimed, prepared: null, ending: { ...ending, outcome: outcomeAlone(ending.outcome) } };
}

function outcomeAlone(outcome: Outcome): Outcome {
  if (outcome.outcome === 'delivered') return { outcome: 'delivered', receipt: {}, note: wordless };
  if (outcome.outcome === 'rejected')
    return {
      outcome: 'rejected',
      reason: 'unexpected',
      detail: wordless,
      advice: 'Replay it when that is put right.',
    };
  if (outcome.outcome === 'retry') return { outcome: 'retry', reason: 'unexpected', detail: wordless };
  return { outcome: 'unknown', reason: 'unexpected', detail: wordless };
}
