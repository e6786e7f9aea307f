// Says what to type where the Node that runs this is too old. Plain JavaScript, which such a one can read.
import { existsSync } from 'node:fs';
import { relative } from 'node:path';

const wanted = 26;
if (Number.parseInt(process.versions.node) < wanted) {
  /** @param {string} path */
  const has = (path) => existsSync(new URL(`../../../node_modules/${path}`, import.meta.url));
  const [, file = '', ...args] = process.argv;
  const words = [relative('.', file), ...args].map((word) =>
    /^[\w=:,./\\-]+$/.test(word) ? word : `"${word}"`,
  );
  // `npm ci --ignore-scripts` leaves out the Node that comes along.
  const missing = has('node') ? 'npm rebuild node --ignore-scripts=false' : 'npm ci';
  const command = has('node/bin') ? `npx node ${words.join(' ')}` : missing;
  console.error(
    `This is Node ${process.versions.node}. Candidate Connector needs Node ${wanted}; type:\n  ${command}`,
  );
  process.exit(1);
}
