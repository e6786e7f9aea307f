import type { Path } from '../fault.ts';

/** Where a key that nothing is known of here belongs, as the end of a sentence; null where nobody could tell. */
export function misplaced(path: Path, key: string): string | null {
  const place = path.join('/');
  const found = belongings.find(({ in: where, keys }) => where.test(place) && keys.includes(key));
  return found?.belongs ?? null;
}

const ofDigest = ['every', 'at', 'by', 'max'];

const belongings = [
  {
    in: /^alerts\//,
    keys: ['digest', ...ofDigest],
    belongs: 'alerts are not collected',
  },
  {
    in: /^(rules\/\d+|sinks\/[^/]+)$/,
    keys: ['hours', 'digest'],
    belongs: 'it belongs to an action under "then"',
  },
  {
    in: /^(rules\/\d+\/then|unmatched)\/\d+$/,
    keys: ofDigest,
    belongs: 'it belongs under "digest"',
  },
  {
    in: /\/then\/\d+$|^unmatched\/\d+$/,
    keys: ['retry', 'rate', 'concurrency', 'timeout', 'onUnknown'],
    belongs: 'it belongs to the sink',
  },
];
