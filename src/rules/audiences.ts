import type { Audience } from '../connector.ts';
import type { Json } from '../model.ts';
import { eventData, sampleEvent, type TemplateData } from '../templates/data.ts';
import type { Action, Cell, Plan } from './plan.ts';

/** Who gets an action's messages about the events of a cell. */
export interface CellAudience {
  /** The recipients. As the config writes them, if they depend on more than the cell. */
  readonly audience: Audience;
  /** Whether it is the same for all events of the cell. */
  readonly isSure: boolean;
}

/** What an action's templates read of a cell, and the results by the values that they read. */
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
  /** The names that any template has read. */
  readonly #read = new Set<string>();
  #watching: Watching | null = null;

  constructor(plan: Plan) {
    this.#plan = plan;
  }

  of(action: Action, cell: Cell): CellAudience {
    const memory = this.#memories.getOrInsertComputed(action, () => ({ read: new Set(), known: new Map() }));
    const found = memory.known.get(idOf(memory.read, cell));
    if (found) return found;
    const before = memory.read.size;
    const made = this.#render(action, cell, memory.read);
    // Earlier results are by fewer values.
    if (memory.read.size > before) memory.known.clear();
    memory.known.set(idOf(memory.read, cell), made);
    for (const name of memory.read) this.#read.add(name);
    return made;
  }

  /** An id of a cell's recipients: cells with the same id have the same. It changes when templates read more. */
  idOf(cell: Cell): string {
    return idOf(this.#read, cell);
  }

  #render(action: Action, cell: Cell, read: Set<string>): CellAudience {
    if (this.#watching?.cell !== cell) this.#watching = new Watching(this.#plan, cell);
    const watching = this.#watching;
    const rendered = action.audience(watching.dataFor(action, read));
    if (watching.isSure && rendered) return { audience: rendered, isSure: true };
    const written = action.audience(null) ?? { place: '', members: [], places: [] };
    return { audience: written, isSure: false };
  }
}

/** Template data for a cell, made once, that notes what a template reads. */
class Watching {
  readonly cell: Cell;
  /** Whether nothing was read that differs among the cell's events. */
  isSure = true;
  #read = new Set<string>();
  readonly #data: Omit<TemplateData, 'rule'>;

  constructor({ lookups }: Plan, cell: Cell) {
    this.cell = cell;
    const { test } = cell;
    const isAny = cell.testId === null;
    const noteEvent = (key: string): void => {
      if (key === status || key === testId) this.#read.add(key);
      this.isSure &&= key === status || (key === testId && !isAny);
    };
    const isLookedUp = (key: string) => lookups.get('test')?.fields.has(key) === true && test[key] === null;
    const noteTest = (key: string): void => {
      this.#read.add(`test.${key}`);
      this.isSure &&= key === 'id' ? !isAny : !isLookedUp(key);
    };
    const facts = Array.from(lookups, ([name, { fields }]) => [
      name,
      Object.fromEntries(Array.from(fields.keys(), (key) => [key, null])),
    ]);
    this.#data = {
      ...Object.fromEntries(facts),
      event: watched({ ...sampleData, status: cell.status, testId: cell.testId ?? sample.testId }, noteEvent),
      test: watched(test, noteTest),
      now: '',
    };
  }

  /** The data for an action. `read`: gets the names that are read. */
  dataFor({ rule }: Action, read: Set<string>): TemplateData {
    this.isSure = true;
    this.#read = read;
    return watched({ ...this.#data, rule: { name: rule } }, (key) => {
      // A cell does not even decide whether a look-up was made.
      this.isSure &&= ['event', 'test', 'rule'].includes(key);
    });
  }
}

/** A copy that calls `note` with each key that is read. */
function watched<T extends object>(all: T, note: (key: string) => void): T {
  const getters = Object.entries(all).map(([key, value]) => {
    const get = () => {
      note(key);
      return value as unknown;
    };
    return [key, { enumerable: true, get }] as const;
  });
  return Object.defineProperties({}, Object.fromEntries(getters)) as T;
}

/** The values of a cell under these names, as one text. */
function idOf(read: ReadonlySet<string>, cell: Cell): string {
  if (read.size === 0) return '[]';
  const values = Array.from(read, (name): Json => {
    if (name === status || name === testId) return cell[name];
    return name === 'test.id' ? cell.testId : (cell.test[name.slice('test.'.length)] ?? null);
  });
  return JSON.stringify(values);
}
