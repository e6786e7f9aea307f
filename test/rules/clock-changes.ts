/** Zones whose clocks change in different ways: by an hour, by half of one, at midnight, or not at all. */
export const zones = [
  'Europe/Zagreb',
  'America/New_York',
  'Australia/Lord_Howe',
  'Africa/Cairo',
  'America/Sao_Paulo',
  'Asia/Kolkata',
  'UTC',
];

/** One of a zone's changes of the clock in 2026 and 2027 (ms), or a common day where it has none. */
export function clockChange(timeZone: string, pick: number): number {
  const found: number[] = [];
  let moment: Temporal.ZonedDateTime | null = Temporal.ZonedDateTime.from(`2026-01-01T00:00[${timeZone}]`);
  while ((moment = moment.getTimeZoneTransition('next')) && moment.year < 2028)
    found.push(moment.epochMilliseconds);
  return found[pick % found.length] ?? Date.parse('2026-03-29T00:00:00Z');
}

export interface WallTime {
  readonly date: string;
  /** ISO: 1 is Monday. */
  readonly weekday: number;
  /** Minutes since midnight. */
  readonly minute: number;
}

const clocks = new Map<string, (time: number) => WallTime>();

/** Reads the wall clock at a moment (ms) by other means than the code under test. Walks pass the same minutes often. */
export function wallClock(timeZone: string): (time: number) => WallTime {
  const clock = clocks.get(timeZone) ?? remembering(clockOf(timeZone));
  clocks.set(timeZone, clock);
  return clock;
}

function remembering(clock: (time: number) => WallTime): (time: number) => WallTime {
  const read = new Map<number, WallTime>();
  return (time) => {
    const known = read.get(time) ?? clock(time);
    read.set(time, known);
    return known;
  };
}

function clockOf(timeZone: string): (time: number) => WallTime {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    weekday: 'short',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  });
  return (time) => {
    const parts = Object.fromEntries(format.formatToParts(time).map(({ type, value }) => [type, value]));
    return {
      date: `${parts['year']}-${parts['month']}-${parts['day']}`,
      weekday: ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'].indexOf(parts['weekday'] ?? '') + 1,
      minute: Number(parts['hour']) * 60 + Number(parts['minute']),
    };
  };
}
