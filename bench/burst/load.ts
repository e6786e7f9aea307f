import { randomBytes } from 'node:crypto';
import { connections, forms } from '../connection.ts';

/**
 * Posts events as fast as they are answered, other ones each time. Takes how many, the port, the number of connections, and the name
 * of their form; tells a LoadResult.
 */

export interface LoadResult {
  /** When the first was answered, and when the last (ms). */
  readonly firstAt: number;
  readonly answeredAt: number;
  readonly refused: number;
}

const [count = '', port = '', over = '', form = ''] = process.argv.slice(2);
const run = randomBytes(4).toString('hex');
let sent = 0;
let firstAt = 0;
let refused = 0;

const { posts, close } = await connections([Number(port)], Number(over), forms[form as keyof typeof forms]);
await Promise.all(
  posts.map(async (post) => {
    while (sent < Number(count)) {
      sent += 1;
      const answer = await post(run + sent.toString(16).padStart(24, '0'));
      firstAt ||= Date.now();
      if (!/^HTTP\/1\.1 20[02]/.test(answer)) refused += 1;
    }
  }),
);
close();
process.send?.({ firstAt, answeredAt: Date.now(), refused } satisfies LoadResult);
