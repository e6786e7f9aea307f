import { connections } from '../connection.ts';

/** Posts events over 64 connections as fast as they are answered. Takes port and how many; tells when the first was answered. */

const [port = '', count = ''] = process.argv.slice(2);
let sent = 0;
let firstAt = 0;
let refused = 0;

const { posts, close } = await connections(Number(port), 64);
await Promise.all(
  posts.map(async (post) => {
    while (sent < Number(count)) {
      sent += 1;
      const answer = await post(sent.toString(16).padStart(32, '0'));
      firstAt ||= Date.now();
      if (!/^HTTP\/1\.1 20[02]/.test(answer)) refused += 1;
    }
  }),
);
close();
process.send?.({ firstAt, refused });
