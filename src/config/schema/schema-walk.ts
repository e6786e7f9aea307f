import { z } from 'zod';

/** What is looked at of a schema; zod's own types do not say which kinds have which of these. */
export interface Definition {
  readonly type: string;
  readonly format?: string;
  readonly innerType?: z.core.$ZodType;
  readonly in?: z.core.$ZodType;
  readonly out?: z.core.$ZodType;
  readonly options?: readonly z.core.$ZodType[];
  readonly element?: z.core.$ZodType;
  readonly valueType?: z.core.$ZodType;
  readonly catchall?: z.core.$ZodType;
  readonly entries?: Record<string, string>;
  readonly values?: readonly unknown[];
  readonly getter?: () => z.core.$ZodType;
  readonly shape?: Record<string, z.core.$ZodType>;
}

export const definitionOf = (schema: unknown): Definition | undefined =>
  (schema as { def?: Definition } | undefined)?.def;

/** True if a credential belongs at this path of what the schema describes; its value must not be shown. */
export function isSecretAt(schema: z.core.$ZodType | undefined, path: readonly PropertyKey[]): boolean {
  const def = definitionOf(schema);
  if (!schema || !def) return false;
  if (z.globalRegistry.get(schema)?.['secret'] === true) return true;
  const sameLevel = [def.innerType, def.in, def.out, def.getter?.(), ...(def.options ?? [])];
  if (sameLevel.some((inner) => inner && isSecretAt(inner, path))) return true;
  const [key, ...rest] = path;
  if (key === undefined) return false;
  const below = [def.shape?.[String(key)], def.element, def.valueType];
  return below.some((inner) => inner && isSecretAt(inner, rest));
}
