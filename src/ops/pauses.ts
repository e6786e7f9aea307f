import { type AskedToWait, inForce, type PersonPause, type SinkPause, type Store } from '../store/store.ts';

/** A person's pause that nobody has given an end needs nobody for so long. */
const forgottenAfterMs = 86_400_000;

/** A sink's pause: a person's, or else the connector's own. */
export type Pause =
  | ({ readonly by: 'connector' } & SinkPause)
  | ({ readonly by: 'person'; readonly isForgotten: boolean } & Omit<PersonPause, 'phase'>);

export type Pauses = ReadonlyMap<string, Pause>;

/** By sink. */
export async function pausesNow(reads: Pick<Store, 'pauses' | 'personPauses'>, now: number): Promise<Pauses> {
  const own = (await reads.pauses()).map((one) => [one.sink, { ...one, by: 'connector' } as const] as const);
  return new Map<string, Pause>([...own, ...pausesOfPeople(await reads.personPauses(), now)]);
}

/** What keeps back deliveries that are due. */
export interface Obstacles {
  readonly pauses: Pauses;
  /** Where a tool asked to wait, by lane. */
  readonly asked: ReadonlyMap<string, AskedToWait>;
}

export async function obstaclesNow(
  reads: Pick<Store, 'pauses' | 'personPauses' | 'askedToWait'>,
  now: number,
): Promise<Obstacles> {
  const asked = (await reads.askedToWait(now)).map((one) => [one.lane, one] as const);
  return { pauses: await pausesNow(reads, now), asked: new Map(asked) };
}

/** Those in force, by sink. */
export const pausesOfPeople = (all: readonly PersonPause[], now: number) =>
  new Map(
    inForce(all, now)
      .values()
      .map(({ phase: _, ...pause }) => {
        const isForgotten = pause.until === null && now - pause.since >= forgottenAfterMs;
        return [pause.sink, { ...pause, by: 'person', isForgotten } as const] as const;
      }),
  );
