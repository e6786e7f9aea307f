import { CaptureTag } from 'liquidjs';
import type { Template } from 'liquidjs';
import { Expressions } from './expressions.ts';
import type { Argument } from './expressions.ts';
import type { Escaping } from './filter-check.ts';
import type { Fault } from './parse.ts';
import { Scope, unknown } from './scope.ts';
import type { Known } from './scope.ts';
import { entryOf, loopShapes, text } from './shapes.ts';
import type { Shape } from './shapes.ts';

/** Goes through a parsed template in the order in which it renders and knows which names there are at each place. */
export class Walk {
  readonly faults: Fault[] = [];
  readonly scope: Scope;
  readonly #expressions: Expressions;

  constructor(roots: ReadonlyMap<string, Shape>, escaping: Escaping) {
    this.scope = new Scope(roots);
    this.#expressions = new Expressions(this.scope, escaping, (fault) => this.faults.push(fault));
  }

  visitAll(templates: Iterable<Template>): void {
    for (const template of templates) this.#visit(template);
  }

  #visit(template: Template): void {
    const loop = template.blockScope ? [...template.blockScope()] : null;
    const [value = unknown] = argumentsOf(template, loop !== null).map((one) => this.#expressions.read(one));
    if (loop) this.scope.within(loopNames(loop, value), () => this.visitAll(childrenOf(template)));
    else this.visitAll(childrenOf(template));
    const assigned = template instanceof CaptureTag ? captured : value;
    for (const { content } of template.localScope?.() ?? []) this.scope.assign(content, assigned);
  }
}

/** It was escaped, but a filter might undo that. */
const captured: Known = { shape: text, hostile: true, sent: false };

/** `offset: continue` is no variable, and LiquidJS yields nothing for a word such as `reversed`. */
function argumentsOf(template: Template, isLoop: boolean): Argument[] {
  const all = [...(template.arguments?.() ?? [])] as (Argument | undefined)[];
  return all
    .filter((one) => one !== undefined)
    .filter((one, index) => !(isLoop && index > 0 && 'props' in one && one.getText() === 'continue'));
}

/** Finished at once: only tags that read files would wait for something. */
function childrenOf(template: Template): Template[] {
  const children = template.children?.(false, true).next();
  return children?.done ? children.value : [];
}

function loopNames([variable = '', helper = '']: readonly string[], collection: Known): Map<string, Known> {
  return new Map([
    [variable, { ...collection, shape: entryOf(collection.shape) }],
    [helper, { ...unknown, shape: loopShapes[helper] ?? unknown.shape }],
  ]);
}
