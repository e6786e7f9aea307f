import type { Problem } from '../config.ts';
import type { Fault, Path } from '../fault.ts';
import { hashHint, hashWordLength } from './hash.ts';
import { scalarOffset } from './scalar-offset.ts';
import type { Source } from './source.ts';
import type { Range, TreeNode } from './tree.ts';

/** Finds where in the file a fault is. */
export function problemOf(fault: Fault, root: TreeNode, source: Source): Problem {
  const node = nodeAt(root, fault.path);
  const hidden = hiddenLength(fault, node, source.text);
  if (hidden === 0)
    return source.problem(fault.severity, ...rangeOf(fault, node, source.text), fault.message);
  const [start] = node.range;
  return source.problem(fault.severity, start, start + hidden, fault.message + hashHint);
}

/** How long the comment is that is meant as the value. */
function hiddenLength({ path, at }: Fault, node: TreeNode, text: string): number {
  return path.length > 0 && at === 'value' && isNothing(node) ? hashWordLength(text, node.range[0]) : 0;
}

function rangeOf({ path, at, inside }: Fault, node: TreeNode, text: string): Range {
  if (inside && node.scalar) {
    const start = scalarOffset(text, node.scalar, inside.index);
    return [start, start + inside.length];
  }
  if (path.length === 0) return [node.range[0], node.range[0] + 1];
  return (at === 'key' || isNothing(node) ? node.key : null) ?? node.range;
}

const isNothing = ({ range: [start, end] }: TreeNode): boolean => start === end;

/** The node at a path, or the deepest one on the way to it. */
function nodeAt(root: TreeNode, path: Path): TreeNode {
  let node = root;
  for (const part of path) {
    const child = node.children.get(part);
    if (!child) break;
    node = child;
  }
  return node;
}
