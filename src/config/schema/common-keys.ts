import { z } from 'zod';
import { isMap, type Json } from '../../model.ts';
import { closest } from '../../suggest.ts';

/**
 * The schema of the keys that sinks or actions have whatever their connector, for one whose connector is unknown: its
 * own keys cannot be judged, unless one of them is the misspelt key that would name the connector.
 */
export function withoutOwnKeys(common: z.ZodRawShape, naming: string, written: Json): z.ZodType {
  const keys = isMap(written) ? Object.keys(written) : [];
  const misspelt = keys.includes(naming)
    ? null
    : closest(
        naming,
        keys.filter((key) => !Object.hasOwn(common, key)),
      );
  if (misspelt === null) return z.looseObject(common);
  const others = keys.filter((key) => key !== misspelt && !Object.hasOwn(common, key));
  return z.strictObject({ ...common, ...Object.fromEntries(others.map((key) => [key, z.unknown()])) });
}
