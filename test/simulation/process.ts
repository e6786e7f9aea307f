import type { Store } from '../../src/store/store.ts';

/** Where a process dies: at its n-th store operation, before or after the operation took effect. */
export interface Death {
  readonly operation: number;
  readonly committed: boolean;
}

/** Operations that have begun and not ended, of all processes together: the world waits until there are none. */
export class Pending {
  #count = 0;
  #over: PromiseWithResolvers<void> | null = null;

  async run<T>(operation: () => T): Promise<Awaited<T>> {
    this.#count += 1;
    try {
      return await operation();
    } finally {
      this.#count -= 1;
      if (this.#count === 0) this.#over?.resolve();
    }
  }

  /** Null: there are none. */
  over(): Promise<void> | null {
    if (this.#count === 0) return null;
    this.#over = Promise.withResolvers<void>();
    return this.#over.promise;
  }

  /** Until nothing goes on any more but what waits for the clock. */
  async settled(): Promise<void> {
    for (let quietTurns = 0; quietTurns < 2;) {
      await new Promise((resolve) => void setImmediate(resolve));
      const over = this.over();
      quietTurns = over ? 0 : quietTurns + 1;
      // A server that is asked needs the processor more than who waits for it.
      await over;
    }
  }

  /** The store, with its operations counted. */
  counted(store: Store): Store {
    return new Proxy(store, {
      get: (target, name) => {
        const operation: unknown = Reflect.get(target, name);
        if (typeof operation !== 'function') return operation;
        return (...args: unknown[]) => this.run(() => Reflect.apply(operation, target, args));
      },
    });
  }
}

/** A new one each time: what waits for a single one would stay in memory for good, and its whole world with it. */
const never = () => new Promise<never>(() => undefined);

/** One life of the connector's process. When it dies, nothing that it waits for ever comes back to it. */
export class SimulatedProcess {
  dead = false;
  #operations = 0;
  readonly #death: Death | null;
  readonly #pending: Pending;
  readonly #died: (operation: string) => void;

  constructor(death: Death | null, pending: Pending, died: (operation: string) => void) {
    this.#death = death;
    this.#pending = pending;
    this.#died = died;
  }

  /** The store as this process sees it. */
  store(real: Store): Store {
    return new Proxy(real, {
      get: (store, name) => {
        const operation: unknown = Reflect.get(store, name);
        if (typeof operation !== 'function') return operation;
        return (...args: unknown[]) => this.#run(String(name), () => Reflect.apply(operation, store, args));
      },
    });
  }

  /** Runs what the process does outside, in the world: a dead one does nothing any more, and hears nothing. */
  async outside<T>(run: () => Promise<T>): Promise<T> {
    if (this.dead) return never();
    const result = await run();
    return this.dead ? never() : result;
  }

  /** Dies here and now, whatever it does. */
  kill(): void {
    if (!this.dead) void this.#die('a kill');
  }

  async #run(name: string, run: () => unknown): Promise<unknown> {
    if (this.dead) return never();
    const dies = this.#operations++ === this.#death?.operation;
    if (dies && !this.#death?.committed) return this.#die(`${name}, which was not done`);
    const result = await this.#pending.run(run);
    if (dies) return this.#die(`${name}, which was done`);
    return this.dead ? never() : result;
  }

  #die(operation: string): Promise<never> {
    this.dead = true;
    this.#died(operation);
    return never();
  }
}
