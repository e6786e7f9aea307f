import { SlackRefusal } from './refusal.ts';

/** One page of a list as Slack cuts it, with the cursor of the next one. */
export function page<Item>(
  all: readonly Item[],
  args: { readonly [name: string]: string | undefined },
  defaultSize: number,
  maxSize: number,
) {
  const size = Math.min(Number(args['limit'] ?? defaultSize), maxSize);
  const start = args['cursor'] ? offsetOf(args['cursor']) : 0;
  const end = start + size;
  const more = end < all.length;
  const next_cursor = more ? Buffer.from(`next:${end}`).toString('base64') : '';
  return {
    items: all.slice(start, end),
    rest: { has_more: more, response_metadata: { next_cursor } },
  };
}

function offsetOf(cursor: string): number {
  const offset = /^next:(\d+)$/.exec(Buffer.from(cursor, 'base64').toString());
  if (!offset) throw new SlackRefusal('invalid_cursor');
  return Number(offset[1]);
}
