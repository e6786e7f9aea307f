import type { Clock } from './clock.ts';

/** Looks for work whenever it is woken, one look at a time, and again after as long as the last one said. */
export class Looks {
  readonly #clock: Clock;
  readonly #look: () => Promise<number | null>;
  #underWay: Promise<void> | null = null;
  #again = false;
  #stopped = false;
  #cancelAlarm: () => void = () => {};

  /** `look` never rejects. It returns after how long to look again, unless woken before (ms); null: only when woken. */
  constructor(clock: Clock, look: () => Promise<number | null>) {
    this.#clock = clock;
    this.#look = look;
  }

  get isUnderWay(): boolean {
    return this.#underWay !== null;
  }

  /** Cheap, and safe to call at any time. What is there to find by now is found, also while a look is under way. */
  wake(): void {
    if (this.#stopped) return;
    this.#again = true;
    this.#underWay ??= this.#run().finally(() => {
      this.#underWay = null;
      if (this.#again) this.wake();
    });
  }

  /** Begins no more looks, and resolves when the one under way has ended. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelAlarm();
    await this.#underWay;
  }

  async #run(): Promise<void> {
    let waitMs: number | null = null;
    while (this.#again && !this.#stopped) {
      this.#again = false;
      waitMs = await this.#look();
    }
    this.#cancelAlarm();
    if (this.#stopped || waitMs === null) return;
    this.#cancelAlarm = this.#clock.after(Math.max(0, waitMs), () => this.wake());
  }
}
