import type { Path } from '../../support/json.ts';
import { oddCharacter } from '../../support/text.ts';
import { placeOf } from '../secrets/hidden.ts';

/** Keys whose values name something for a program. */
const namingKeys = new Set(
  ['sink hours connector channel tab key url', 'to cc bcc owner'].flatMap((keys) => keys.split(' ')),
);

/** Whether a value is what events or facts are compared with. Those of tests are compared with the catalog. */
const isCompared = (path: Path): boolean =>
  path[path[0] === 'policies' ? 3 : 2] === 'when' && !path.some((part) => String(part).startsWith('test.'));

/** Whether a value names, opens or is compared with something, so that each of its characters counts. */
const isExact = (path: Path): boolean =>
  namingKeys.has(String(path.findLast((part) => typeof part === 'string'))) ||
  isCompared(path) ||
  placeOf(path).isSecret;

/** Whether people read a value. There such spaces are typography, as before the colon of a French sentence. */
const isRead = (path: Path): boolean =>
  !isExact(path) && (placeOf(path).isTemplate === true || path.at(-1) === 'from');

/** What is odd in a value as written, of which people may read most; null where it may stay. */
export const oddIn = (text: string, path: Path): RegExpExecArray | null =>
  isExact(path) ? oddCharacter.exec(text) : null;

/** What is odd in the value of a variable or file, which mostly is for a program; null where it may stay. */
export const oddInReferred = (text: string, path: Path): RegExpExecArray | null =>
  isRead(path) ? null : oddCharacter.exec(text);
