import type { Audience } from '../connector.ts';
import type { Json } from '../model.ts';
import { eventData, sampleEvent, type TemplateData } from '../templates/data.ts';
import type { Action, Cell, Plan } from './plan.ts';

/** Who gets an action's messages about the events of a cell. */
export interface CellAudience {
  /** If it depends on more than the cell, as the config has it. */
  readonly audience: Audience;
  /** It is the same for all of these events. */
  readonly isSure: boolean;
}

/** What an action's templates read of a cell, and what came of it, by the values that they read. */
interface Memory {
  readonly read: Set<string>;
  readonly known: Map<string, CellAudience>;
}

const sample = sampleEvent({}, 0);
const sampleData = eventData(sample);
const status = 'status';
const testId = 'testId';

/** Who gets the messages of a plan's actions, rendered once for all cells in which the templates read the same. */
export class Audiences {
  readonly #plan: Plan;
  readonly #memories = new Map<Action, Memory>();

  constructor(plan: Plan) {
    this.#plan = plan;
  }

  of(action: Action, cell: Cell): CellAudience {
    const memory = this.#memories.getOrInsertComputed(action, () => ({ read: new Set(), known: new Map() }));
    const found = memory.known.get(idOf(memory, cell));
    if (found) return found;
    const before = memory.read.size;
    const made = this.#render(action, cell, memory.read);
    // What was made before did not read all of it.
    if (memory.read.size > before) memory.known.clear();
    memory.known.set(idOf(memory, cell), made);
    return made;
  }

  #render(action: Action, cell: Cell, read: Set<string>): CellAudience {
    const { lookups } = this.#plan;
    const { test } = cell;
    let isSure = true;
    /** A copy that tells what is read of it. */
    const watched = <T extends object>(all: T, note: (key: string) => void): T => {
      const getters = Object.entries(all).map(([key, value]) => {
        const get = () => {
          note(key);
          return value as unknown;
        };
        return [key, { enumerable: true, get }] as const;
      });
      return Object.defineProperties({}, Object.fromEntries(getters)) as T;
    };
    const isAny = cell.testId === null;
    const noteEvent = (key: string): void => {
      if (key === status || key === testId) read.add(key);
      isSure &&= key === status || (key === testId && !isAny);
    };
    const isLookedUp = (key: string) => lookups.get('test')?.fields.has(key) === true && test[key] === null;
    const noteTest = (key: string): void => {
      read.add(`test.${key}`);
      isSure &&= key === 'id' ? !isAny : !isLookedUp(key);
    };
    const facts = Array.from(lookups, ([name, { fields }]) => [
      name,
      Object.fromEntries(Array.from(fields.keys(), (key) => [key, null])),
    ]);
    const data: TemplateData = {
      ...Object.fromEntries(facts),
      event: watched({ ...sampleData, status: cell.status, testId: cell.testId ?? sample.testId }, noteEvent),
      test: watched(test, noteTest),
      rule: { name: action.rule },
      now: '',
    };
    const rendered = action.audience(
      watched(data, (key) => {
        // Whether a look-up was made at all is not the cell's either.
        isSure &&= ['event', 'test', 'rule'].includes(key);
      }),
    );
    if (isSure && rendered) return { audience: rendered, isSure };
    const written = action.audience(null) ?? { place: '', members: [], places: [] };
    return { audience: written, isSure: false };
  }
}

/** What an action's templates read of a cell. */
function idOf({ read }: Memory, cell: Cell): string {
  if (read.size === 0) return '[]';
  const values = Array.from(read, (name): Json => {
    if (name === status || name === testId) return cell[name];
    return name === 'test.id' ? cell.testId : (cell.test[name.slice('test.'.length)] ?? null);
  });
  return JSON.stringify(values);
}
