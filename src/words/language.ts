import type { en } from './en.ts';

export type TextName = keyof typeof en;

/** The forms of a text by `Intl.PluralRules`. A class that is left out has the form `other`. */
export type Forms<Class extends Intl.LDMLPluralRule> = { readonly [form in Class | 'other']: string } & {
  readonly [form in Intl.LDMLPluralRule]?: string;
};

/** All texts in one language. `Class`: its classes of plurals besides `other`. A plain text holds for all numbers. */
export type Language<Class extends Intl.LDMLPluralRule> = {
  readonly [name in TextName]: (typeof en)[name] extends string ? string : string | Forms<Class>;
};

type In<Text> = Text extends `${string}{${infer Key}}${infer Rest}` ? Key | In<Rest> : never;

/** The placeholders of a text, taken from English. */
export type Placeholder<Name extends TextName> = (typeof en)[Name] extends string
  ? In<(typeof en)[Name]>
  : In<(typeof en)[Name][keyof (typeof en)[Name]]>;
