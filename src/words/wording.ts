import { de } from './de.ts';
import { en } from './en.ts';
import { es } from './es.ts';
import { fr } from './fr.ts';
import { hr } from './hr.ts';
import { it } from './it.ts';
import { nl } from './nl.ts';
import { pl } from './pl.ts';
import { pt } from './pt.ts';
import { memo } from '../support/text.ts';
import type { Forms, Language, Placeholder, TextName } from './language.ts';

export type { Placeholder, TextName };

/** All languages, by the codes that a config may name. */
export const languages = { en, de, fr, es, it, hr, pl, nl, pt } satisfies {
  readonly [code: string]: Language<never>;
};
export type LanguageCode = keyof typeof languages;

/** A config's own texts in place of the language's. */
export type OwnTexts = { readonly [name in TextName]?: string | Forms<never> };

export const placeholder = /\{(\w+)\}/g;

type Values<Name extends TextName> = {
  readonly [key in Placeholder<Name>]: key extends 'count' ? number : string;
};

/** The locale of a language's dates and numbers, where the config names none. */
export const localeOf = (language: LanguageCode): string => (language === 'en' ? 'en-GB' : language);

const plurals = memo(10, (language) => new Intl.PluralRules(language));
const numbers = memo(20, (locale) => new Intl.NumberFormat(locale));

/** The default texts of one language, with those that a config has in their place. */
export class Wording {
  readonly #language: LanguageCode;
  readonly locale: string;
  readonly #own: OwnTexts;

  constructor(language: LanguageCode, locale = localeOf(language), own: OwnTexts = {}) {
    this.#language = language;
    this.locale = locale;
    this.#own = own;
  }

  /** A text with its placeholders, in the form for `count` if it has several. */
  textOf(name: TextName, count?: unknown): string {
    const text: string | Forms<never> = this.#own[name] ?? languages[this.#language][name];
    if (typeof text === 'string') return text;
    const form = plurals(this.#language).select(Number(count));
    return text[form] ?? text.other;
  }

  /** A number as the locale writes it. For counts: ids have no separators. */
  number(value: number): string {
    return numbers(this.locale).format(value);
  }

  #shown(value: string | number): string {
    return typeof value === 'number' ? this.number(value) : value;
  }

  /** A text with values in place of its placeholders. */
  say<Name extends TextName>(
    name: Name,
    ...given: Placeholder<Name> extends never ? [] : [Values<Name>]
  ): string {
    const values = (given[0] ?? {}) as { readonly [key: string]: string | number };
    const text = this.textOf(name, values['count']);
    return text.replaceAll(placeholder, (whole, key: string) =>
      Object.hasOwn(values, key) ? this.#shown(values[key]!) : whole,
    );
  }
}

/** The texts of pages and commands, which are English. */
export const english = new Wording('en');

/** The texts that a config may replace. */
export const textNames = (Object.keys(en) as TextName[]).filter((name) => name !== 'languageCode');

export const isTextName = (name: unknown): name is TextName =>
  typeof name === 'string' && Object.hasOwn(en, name);

export function placeholdersOf(name: TextName): string[] {
  const text: string | Forms<never> = en[name];
  const forms = typeof text === 'string' ? [text] : Object.values(text);
  return [...new Set(forms.flatMap((form) => Array.from(form.matchAll(placeholder), ([, key]) => key!)))];
}

export const isPlural = (name: TextName): boolean => typeof en[name] !== 'string';
