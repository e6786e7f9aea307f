import type { Problem } from '../config.ts';
import type { Fault, Path } from '../fault.ts';
import { scalarOffset } from './scalar-offset.ts';
import type { Source } from './source.ts';
import type { Range, TreeNode } from './tree.ts';

/** Finds where in the file a fault is. */
export function problemOf(fault: Fault, root: TreeNode, source: Source): Problem {
  const [start, end] = rangeOf(fault, root, source.text);
  return source.problem(fault.severity, start, end, fault.message);
}

function rangeOf({ path, at, inside }: Fault, root: TreeNode, text: string): Range {
  const node = nodeAt(root, path);
  if (inside && node.scalar) {
    const start = scalarOffset(text, node.scalar, inside.index);
    return [start, start + inside.length];
  }
  if (path.length === 0) return [node.range[0], node.range[0] + 1];
  const isNothing = node.range[0] === node.range[1];
  return (at === 'key' || isNothing ? node.key : null) ?? node.range;
}

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
