/** What is known of a value before any event comes. */
export type Shape =
  | { readonly kind: 'map'; readonly keys: ReadonlyMap<string, Shape> }
  | { readonly kind: 'list'; readonly entry: Shape }
  | { readonly kind: 'text' | 'number' | 'any' };

export const text: Shape = { kind: 'text' };
export const number: Shape = { kind: 'number' };
export const any: Shape = { kind: 'any' };

export const map = (keys: { readonly [key: string]: Shape }): Shape => ({
  kind: 'map',
  keys: new Map(Object.entries(keys)),
});

const loopKeys = {
  length: number,
  index: number,
  index0: number,
  rindex: number,
  rindex0: number,
  first: any,
  last: any,
};

/** What `forloop` and `tablerowloop` have, inside of their tags. */
export const loopShapes: { readonly [name: string]: Shape } = {
  forloop: map(loopKeys),
  tablerowloop: map({ ...loopKeys, row: number, col: number, col0: number, col_first: any, col_last: any }),
};

/** One step of a path: a name, a place in a list, or null where it is known only when an event comes. */
export type Step = string | number | null;

/** What a step leads to, or null if there is no such thing. */
export function stepInto(shape: Shape, step: Step): Shape | null {
  if (shape.kind === 'any' || step === null) return any;
  if (step === 'size' && shape.kind !== 'number')
    return (shape.kind === 'map' && shape.keys.get('size')) || number;
  if (shape.kind === 'map') return shape.keys.get(String(step)) ?? null;
  if (shape.kind !== 'list') return null;
  return step === 'first' || step === 'last' || /^-?\d+$/.test(String(step)) ? shape.entry : null;
}

/** What a loop over a value gives: the entries of a list, pairs of an object, a text itself. */
export function entryOf(shape: Shape): Shape {
  if (shape.kind === 'list') return shape.entry;
  return shape.kind === 'text' ? text : any;
}
