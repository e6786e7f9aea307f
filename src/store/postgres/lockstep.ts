import type { Operation, Statement } from '../operation.ts';
import { storable } from '../../support/text.ts';

export type Send = (statements: readonly Statement[]) => Promise<readonly unknown[]>;

/** An operation that runs: one of the batch, or a part of one. */
interface Task {
  readonly operation: Operation<unknown>;
  /** The operation of the batch that it is, or is part of. */
  readonly owner: Owner;
  ended(result: unknown): void;
}

interface Owner {
  /** The names of its locks. */
  readonly locks: string[];
}

interface HeldLock {
  readonly owner: Owner;
  readonly waiting: Task[];
}

/** Takes locks one after the other, in the order given. */
const takeLocks = `
  select count(pg_advisory_xact_lock(hashtextextended(name, 0))) from json_array_elements_text($1) as names (name)`;

/**
 * Runs operations side by side in one transaction: each round sends the next statements of all of them in one round trip.
 * Resolves to their results. `sendLast` gets the statements without an answer that are left when all have ended.
 */
export async function inLockstep(
  operations: readonly Operation<unknown>[],
  sendAll: Send,
  sendLast: (rest: readonly Statement[]) => Promise<unknown> = async (rest) => {
    if (rest.length > 0) await sendAll(rest);
  },
): Promise<unknown[]> {
  const batch = new Lockstep();
  const results: unknown[] = [];
  for (const [place, operation] of operations.entries()) {
    batch.start(operation, (result) => (results[place] = result));
  }
  while (batch.asks) await batch.round(sendAll);
  if (Object.keys(results).length < operations.length) {
    throw new Error('Operations of one batch wait for locks of each other.');
  }
  await sendLast(batch.rest);
  return results;
}

class Lockstep {
  /** Statements without an answer, which go with the next round. */
  rest: Statement[] = [];
  #asked: { readonly task: Task; readonly statement: Statement }[] = [];
  /** The locks to take in this round, before its statements, which so see what the former holders committed. */
  #locks: string[] = [];
  readonly #held = new Map<string, HeldLock>();
  readonly #taken = new Set<string>();

  get asks(): boolean {
    return this.#asked.length > 0 || this.#locks.length > 0;
  }

  start(operation: Operation<unknown>, ended: (result: unknown) => void): void {
    const owner: Owner = { locks: [] };
    this.#goOn({
      operation,
      owner,
      ended: (result) => {
        ended(result);
        this.#release(owner);
      },
    });
  }

  async round(sendAll: Send): Promise<void> {
    const asked = this.#asked;
    const locks = this.#locks;
    const rest = this.rest;
    this.#asked = [];
    this.#locks = [];
    this.rest = [];
    // All processes take locks in the same order, so that deadlocks are rare.
    const values = [JSON.stringify(locks.map(storable).toSorted())];
    const first: Statement[] =
      locks.length > 0 ? [{ sql: takeLocks, values, wants: 'nothing' }, ...rest] : rest;
    const answers = await sendAll([...first, ...asked.map(({ statement }) => statement)]);
    for (const [place, { task }] of asked.entries()) this.#goOn(task, answers[first.length + place]);
  }

  #goOn(task: Task, answer?: unknown): void {
    const { value, done } = task.operation.next(answer);
    if (done) task.ended(value);
    else if ('sql' in value) this.#ask(task, value);
    else if ('lock' in value) this.#lock(task, value.lock);
    else this.#together(task, value.together);
  }

  #ask(task: Task, statement: Statement): void {
    if (statement.wants !== 'nothing') {
      this.#asked.push({ task, statement });
      return;
    }
    this.rest.push(statement);
    this.#goOn(task);
  }

  #together(parent: Task, operations: readonly Operation<unknown>[]): void {
    const results: unknown[] = [];
    let running = operations.length;
    if (running === 0) this.#goOn(parent, results);
    for (const [place, operation] of operations.entries()) {
      const ended = (result: unknown) => {
        results[place] = result;
        running -= 1;
        if (running === 0) this.#goOn(parent, results);
      };
      this.#goOn({ operation, owner: parent.owner, ended });
    }
  }

  /** Takes a lock, and goes on at once: the task's next statement comes after the lock, in the same round trip. */
  #lock(task: Task, name: string): void {
    const held = this.#held.get(name);
    if (held && held.owner !== task.owner) {
      held.waiting.push(task);
      return;
    }
    if (!held) {
      this.#held.set(name, { owner: task.owner, waiting: [] });
      task.owner.locks.push(name);
    }
    if (!this.#taken.has(name)) this.#locks.push(name);
    this.#taken.add(name);
    this.#goOn(task);
  }

  /** The transaction keeps its locks, so the next operation that waits for one becomes its holder. */
  #release({ locks }: Owner): void {
    for (const name of locks) {
      const waiting = this.#held.get(name)?.waiting ?? [];
      this.#held.delete(name);
      for (const task of waiting) this.#lock(task, name);
    }
  }
}
