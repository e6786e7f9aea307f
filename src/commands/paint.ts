import { styleText } from 'node:util';
import type { DeliveryState } from '../model.ts';
import type { Io } from './io.ts';

type Style = Parameters<typeof styleText>[0];

const stateStyles: Record<DeliveryState, Style> = {
  pending: 'yellow',
  sending: 'yellow',
  delivered: 'green',
  dead: 'red',
  held: 'magenta',
  discarded: 'gray',
};

/** Colours text on a terminal, and leaves it alone elsewhere. */
export function paint(io: Io, style: Style, text: string): string {
  return io.color ? styleText(style, text, { validateStream: false }) : text;
}

export const paintState = (io: Io, state: DeliveryState): string => paint(io, stateStyles[state], state);

/** A time for people: `2026-11-21 08:00:00 UTC`. */
export function when(time: number): string {
  return `${new Date(time).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

// Controls, line separators, and the marks that turn writing around.
// oxlint-disable-next-line no-control-regex -- finding them is the purpose
const unsafe = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;

/**
 * Text from outside made safe for a terminal, which some characters would repaint: a candidate id must not look like
 * another one, nor like output of ours. They are shown as \u{…}.
 */
export function printable(text: string): string {
  return text.replaceAll(unsafe, (character) => `\\u{${character.charCodeAt(0).toString(16)}}`);
}

/** The same for JSON: what JSON leaves as it is becomes an escape, so the value stays what it was. */
export function jsonLine(value: unknown): string {
  return JSON.stringify(value).replaceAll(unsafe, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}
