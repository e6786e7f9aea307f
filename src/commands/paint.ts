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
