import { type CandidateEvent, statuses } from '../../src/model.ts';

/** A config, and what comes by it. */
export interface Case {
  readonly config: string;
  /** The config from `changesAt` on (ms). Its further rule is applied then to what came before. */
  readonly later: string;
  readonly changesAt: number;
  readonly events: readonly (Pick<CandidateEvent, 'candidateId' | 'testId' | 'status'> & {
    readonly at: number;
  })[];
  /** When a person asks look-ups again (ms). */
  readonly asksAgainAt: readonly number[];
  /** Whom a look-up may find. */
  readonly people: readonly string[];
  readonly startsAt: number;
  /** The fields in which the events of an action's digest agree. */
  readonly by: ReadonlyMap<string, readonly string[]>;
}

export const laterRule = 'later';

export const among = <T>(random: () => number, all: readonly T[]): T =>
  all[Math.floor(random() * all.length)]!;

const minuteMs = 60_000;
const dayMs = 86_400_000;
/** Days before the end of a month, also of one in which clocks are changed. */
const starts = ['2026-02-27', '2026-03-28', '2026-03-30', '2026-10-23', '2026-10-30', '2026-12-30'];
const zones = ['Etc/UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kathmandu', 'Pacific/Auckland'];
const people = ['Ana@Example.com', 'ana@example.com', 'ben@example.com', 'Ben@example.COM'];
const channels = ['#Hiring', '#hiring', '#TEAM-b'];
const windows = [
  { every: '1h' },
  { every: '6h' },
  { every: '1d' },
  { every: '7d' },
  { at: '09:00' },
  { at: ['00:00', '12:30'] },
];
const found = (otherwise: string) => `{{ candidate.recruiter | default: "${otherwise}" }}`;

/** Templates of where messages of a sink go. */
const places = {
  slack: [
    '{{ test.channel }}',
    '#m-{{ now | date: "%m" }}',
    '#D-{{ now | date: "%d" }}',
    '{{ test.owner }}',
    found('#hr'),
    '#Hiring',
  ],
  mail: [
    '{{ test.owner }}',
    'day-{{ now | date: "%d" }}@example.com',
    found('HR@example.com'),
    'hr@example.com',
    `${found('hr@example.com')}, {{ test.owner }}`,
  ],
  sheet: ['{{ test.channel | remove: "#" }}', 'M {{ now | date: "%m" }}', found('Others'), 'Log'],
} as const;
const keys = { slack: 'channel', mail: 'to', sheet: 'tab' } as const;

export function randomCase(random: () => number): Case {
  const pick = <T>(all: readonly T[]): T => among(random, all);
  const maybe = (share: number, value: () => object): object => (random() < share ? value() : {});
  const by = new Map<string, readonly string[]>();
  const action = (rule: string, index: number) => {
    const sink = pick(['slack', 'mail', 'sheet'] as const);
    const isDigest = random() < 0.75;
    const fields =
      isDigest && random() < 0.3 ? [pick(['testId', 'status', 'candidateId', 'candidate.recruiter'])] : [];
    by.set(`${rule} ${index}`, fields);
    const one = '{{ event.candidateId }}/{{ event.status }}';
    const text = isDigest ? `={% for event in events %}${one} {% endfor %}=` : `=${one} =`;
    return {
      sink,
      [keys[sink]]: pick(places[sink]),
      ...(sink === 'sheet' ? { row: { Text: text } } : { text }),
      ...maybe(0.3, () => ({ hours: pick(['office', 'night']) })),
      ...(isDigest && {
        digest: {
          ...pick(windows),
          ...maybe(0.3, () => ({ max: 2 })),
          ...(fields.length > 0 && { by: fields }),
        },
      }),
    };
  };
  const rule = (name: string) => ({
    name,
    when: pick([{}, {}, { status: 'Completed' }, { testId: 1 }]),
    then: Array.from({ length: 1 + Math.floor(random() * 2) }, (_, index) => action(name, index)),
  });
  const rules = Array.from({ length: 1 + Math.floor(random() * 3) }, (_, place) => rule(`rule-${place}`));
  const test = () => ({ owner: pick(people), channel: pick(channels) });
  const startsAt = Date.parse(`${pick(starts)}T00:00:00Z`) + Math.floor(random() * 1440) * minuteMs;
  const forMs = pick([dayMs / 4, dayMs, 4 * dayMs]);
  const config = {
    timezone: pick(zones),
    store: { retention: '365d' },
    catalog: { 1: test(), 2: test(), 3: test() },
    hours: {
      office: { days: ['mon', 'tue', 'wed', 'thu', 'fri'], from: '09:00', to: '17:30' },
      night: { timezone: pick(zones), from: '18:00', to: '24:00', days: ['mon', 'wed', 'sat', 'sun'] },
    },
    sinks: {
      slack: { connector: 'slack', token: '${TOKEN}' },
      mail: { connector: 'email', url: 'smtp://smtp.example.com', from: 'hiring@example.com' },
      sheet: { connector: 'google-sheets', spreadsheetId: 's', credentials: 'adc' },
    },
    lookups: {
      candidate: {
        url: 'https://api.example.com/{{ event.candidateId }}',
        fields: { recruiter: { at: '/recruiter' } },
        waitFor: '60s',
      },
    },
    rules,
  };
  // Half a minute, so that what comes is never at the very moment of what is due.
  const moment = () => startsAt + Math.floor((random() * forMs) / minuteMs) * minuteMs + minuteMs / 2;
  const candidates = ['ana', 'ben', 'eva', 'jan', 'kim', 'lea', 'max', 'ole', 'pia'];
  const events = Array.from({ length: 3 + Math.floor(random() * 12) }, (_, place) => ({
    at: moment(),
    candidateId: `${candidates[place % candidates.length]}${Math.floor(place / candidates.length)}`,
    testId: pick([1, 2, 3]),
    status: pick(statuses),
  }));
  return {
    config: JSON.stringify(config),
    later: JSON.stringify({ ...config, rules: [...rules, rule(laterRule)] }),
    changesAt: moment(),
    events: events.toSorted((a, b) => a.at - b.at),
    asksAgainAt: Array.from({ length: Math.floor(random() * 6) }, moment).toSorted((a, b) => a - b),
    people,
    startsAt,
    by,
  };
}
