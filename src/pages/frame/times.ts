import { html, type Html } from '../../support/html.ts';
import { clockIn } from '../../templates/people.ts';
import { english } from '../../words/wording.ts';

const secondMs = 1000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** Formats times (ms) in the config's time zone and, where it is English, its locale. */
export class Times {
  readonly now: number;
  readonly timeZone: string;
  readonly #locale: string;
  readonly #clock: Intl.DateTimeFormatOptions;

  constructor(now: number, timeZone: string, locale = english.locale) {
    this.now = now;
    this.timeZone = timeZone;
    this.#locale = /^en\b/i.test(locale) ? locale : english.locale;
    this.#clock = clockIn(this.#locale);
  }

  /** `14:05` today, `21 Nov, 14:05` before. */
  short(time: number): Html {
    const isToday = this.day(time) === this.day(this.now);
    return this.#tagged(
      time,
      this.#format(time, isToday ? this.#clock : { ...date, ...this.#clock, ...this.#year(time) }),
    );
  }

  /** To the second. */
  exact(time: number): Html {
    return this.#tagged(time, this.#format(time, { ...date, ...this.#toTheSecond, ...this.#year(time) }));
  }

  /** `3 minutes ago`, `in 2 hours`. */
  relative(time: number): Html {
    const ms = time - this.now;
    const [unitMs, unit] = units.find(([least]) => Math.abs(ms) >= least) ?? [secondMs, 'second'];
    if (ms <= 0 && ms > -secondMs) return this.#tagged(time, 'just now');
    return this.#tagged(time, relativeFormat.format(Math.trunc(ms / unitMs) || 1, unit));
  }

  /** A time to come: `in 20 minutes`, but from an hour on when that is: `17:00`, `30 Nov, 08:00`. */
  ahead(time: number): Html {
    return time - this.now < hourMs ? this.relative(time) : this.short(time);
  }

  /** `3 min ago`; `2 Nov` for a time of a month ago or more. Where nothing can hover, styles show `short` instead. */
  ago(time: number): Html {
    return html`<span class="ago">${this.#age(time)}</span><span class="at">${this.short(time)}</span>`;
  }

  #age(time: number): Html {
    const ms = Math.max(0, this.now - time);
    if (ms >= 30 * dayMs) return this.#tagged(time, this.#format(time, { ...date, ...this.#year(time) }));
    const [unitMs, unit] = shortUnits.find(([least]) => ms >= least) ?? [secondMs, 's'];
    return this.#tagged(time, ms < secondMs ? 'now' : `${Math.trunc(ms / unitMs)} ${unit} ago`);
  }

  /** `2026-11-21`, in the time zone. */
  day(time: number): string {
    return this.#format(time, { year: 'numeric', month: '2-digit', day: '2-digit' }, 'sv-SE');
  }

  /** `Sat 21`. */
  weekday(time: number): string {
    const part = (options: Intl.DateTimeFormatOptions) => this.#format(time, options);
    return `${part({ weekday: 'short' })} ${part({ day: 'numeric' })}`;
  }

  /** The beginning of the day so many days before the day of `time`. */
  daysBefore(time: number, days: number): number {
    const today = Temporal.PlainDate.from(this.day(time));
    return this.dayStart(today.subtract({ days }).toString());
  }

  /** The beginning of a day such as `2026-11-21`. */
  dayStart(day: string): number {
    return Temporal.PlainDate.from(day).toZonedDateTime(this.timeZone).epochMilliseconds;
  }

  get #toTheSecond(): Intl.DateTimeFormatOptions {
    return { ...this.#clock, second: '2-digit' };
  }

  #year(time: number): Intl.DateTimeFormatOptions {
    return Math.abs(time - this.now) > 300 * dayMs ? { year: 'numeric' } : {};
  }

  #format(time: number, options: Intl.DateTimeFormatOptions, locale = this.#locale): string {
    const key = JSON.stringify([locale, options, this.timeZone]);
    const format = formats.getOrInsertComputed(
      key,
      () => new Intl.DateTimeFormat(locale, { ...options, timeZone: this.timeZone }),
    );
    // See `inLocale`.
    return format.format(time).replaceAll('\u202F', ' ');
  }

  /** `21 Nov 2026, 14:05:00 Europe/Zagreb`, as text. */
  whole(time: number): string {
    return `${this.#format(time, { ...date, year: 'numeric', ...this.#toTheSecond })} ${this.timeZone}`;
  }

  #tagged(time: number, text: string): Html {
    const iso = new Date(time).toISOString();
    return html`<time datetime="${iso}" title="${this.whole(time)}">${text}</time>`;
  }
}

const formats = new Map<string, Intl.DateTimeFormat>();
const date = { day: 'numeric', month: 'short' } as const;
const units = [
  [dayMs, 'day'],
  [hourMs, 'hour'],
  [minuteMs, 'minute'],
  [secondMs, 'second'],
] as const;
const shortUnits = [
  [dayMs, 'd'],
  [hourMs, 'h'],
  [minuteMs, 'min'],
  [secondMs, 's'],
] as const;
/** With numbers only: "tomorrow" would also be said of 47 hours, which may be the day after. */
const relativeFormat = new Intl.RelativeTimeFormat('en', { numeric: 'always' });

/** `240 ms`, `3.2 s`, `5 min`, `2 h`, `3 d`. */
export function duration(ms: number): string {
  if (ms < secondMs) return `${Math.round(ms)} ms`;
  if (ms < minuteMs) return `${Number((ms / secondMs).toFixed(ms < 10 * secondMs ? 1 : 0))} s`;
  if (ms < hourMs) return `${Math.round(ms / minuteMs)} min`;
  return ms < 2 * dayMs ? `${Math.round(ms / hourMs)} h` : `${Math.round(ms / dayMs)} d`;
}
