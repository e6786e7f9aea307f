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

/**
 * Text from outside made safe for a terminal: control characters, and the marks that turn writing around, would let a candidate
 * id repaint the screen, so they are shown as \u{…}.
 */
export function printable(text: string): string {
  // oxlint-disable-next-line no-control-regex -- finding them is the purpose
  return text.replaceAll(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, (character) => {
    return `\\u{${character.codePointAt(0)?.toString(16)}}`;
  });
}
