import { closest } from '../suggest.ts';
import { statuses } from '../model.ts';
import type { Scope } from './scope.ts';
import type { Shape, Step } from './shapes.ts';

/**
 * Says of a path which step leads nowhere, and what was probably meant. `within` is what is known of the value before
 * that step, null where the first name itself is unknown.
 */
export function unknownVariable(
  path: readonly Step[],
  at: number,
  within: Shape | null,
  scope: Scope,
): string {
  const name = nameOf(path.slice(0, at + 1));
  const step = String(path[at]);
  if (within === null) return `unknown variable \`${name}\`${rootHint(step, scope)}`;
  const parent = nameOf(path.slice(0, at));
  if (within.kind === 'list')
    return `\`${parent}\` is a list without \`${step}\`; go through it with \`{% for entry in ${parent} %}\``;
  if (within.kind !== 'map') return `\`${parent}\` is a ${within.kind} and has no \`${step}\``;
  return `unknown variable \`${name}\`${keyHint(parent, step, [...within.keys.keys()])}`;
}

const ofDigests = '; it is there only in actions with `digest`, in what they say and not in where that goes';

function rootHint(name: string, scope: Scope): string {
  if ((statuses as readonly string[]).includes(name)) return `; a text needs quotes: \`"${name}"\``;
  if (name === 'events' && !scope.names().includes('notice')) return ofDigests;
  if (name === 'notice') return '; it is there in the actions of alerts';
  if (name === 'forloop') return '; it is there inside of `for`';
  const inside = scope.names().find((root) => {
    const shape = scope.find(root)?.shape;
    return shape?.kind === 'map' && shape.keys.has(name);
  });
  const meant = inside === undefined ? closest(name, scope.names()) : `${inside}.${name}`;
  return meant === null ? `; there are ${list(scope.names())}` : `, did you mean \`${meant}\`?`;
}

function keyHint(parent: string, key: string, known: readonly string[]): string {
  const meant = closest(key, known);
  if (meant !== null) return `, did you mean \`${parent}.${meant}\`?`;
  if (parent === 'event')
    return `; what else the service sends is in \`event.raw\`, such as \`event.raw.${key}\``;
  if (parent === 'test') return `; no entry of the catalog has \`${key}\``;
  return `; \`${parent}\` has ${list(known)}`;
}

const list = (names: readonly string[]): string => names.map((name) => `\`${name}\``).join(', ');

function nameOf(path: readonly Step[]): string {
  return path.map((step, index) => stepText(step, index)).join('');
}

function stepText(step: Step, index: number): string {
  if (step === null) return '[…]';
  if (typeof step === 'number') return `[${step}]`;
  return index === 0 ? step : `.${step}`;
}
