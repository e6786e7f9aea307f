/** The parts of a JSON Schema that lead to keys. */
export interface Schema {
  readonly $ref?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly properties?: Record<string, Schema>;
  readonly patternProperties?: Record<string, Schema>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly definitions?: Record<string, Schema>;
}

export type Keys = Map<string, Schema>;

/** Placeholders for the names that people choose, in maps whose keys are theirs. */
const names: Record<string, string> = {
  catalog: '<test id>',
  hours: '<name>',
  lookups: '<name>',
  'lookups.<name>.fields': '<field>',
};

/** Keys under which another section begins, which is listed by itself. */
const ends = new Set([
  'sinks',
  'words',
  'lookups.<name>.when',
  'policies[].never.when',
  'policies[].always.when',
  'policies[].atMost.when',
  'rules[].when',
  'rules[].then',
  'unmatched',
  'alerts.config.then',
  'alerts.dead.then',
  'alerts.held.then',
  'alerts.paused.then',
  'alerts.refused.then',
  'alerts.silence.then',
  'summary.then',
]);

/** Every key that a config can have, by section and name as docs/configuration.md has them. */
export function keysOf(root: Schema, connectorNames: readonly string[]): Keys {
  const definition = (name: string): Schema => root.definitions?.[name] ?? {};
  const keys: Keys = new Map();

  const resolve = ({ $ref = '' }: Schema): Schema => definition($ref.replace('#/definitions/', ''));

  /** The shapes that a value may have. Any JSON, which zod names `__schema…`, has no known keys. */
  function shapes(schema: Schema): Schema[] {
    if (schema.$ref?.includes('__schema')) return [];
    if (schema.$ref !== undefined) return shapes(resolve(schema));
    return [schema, ...(schema.anyOf ?? []).flatMap(shapes)];
  }

  function add(schema: Schema, path: string): void {
    for (const { properties = {}, items, additionalProperties } of shapes(schema)) {
      for (const [key, inner] of Object.entries(properties))
        addKey(path === '' ? key : `${path}.${key}`, inner);
      if (items) add(items, `${path}[]`);
      if (typeof additionalProperties === 'object' && names[path])
        add(additionalProperties, `${path}.${names[path]}`);
    }
  }

  function addKey(path: string, schema: Schema): void {
    keys.set(path, { ...shapes(schema)[0], ...schema });
    if (!ends.has(path)) add(schema, path);
  }

  /** Adds keys: those that every connector has to one section, each connector's own to its own. */
  function addVariants(kind: 'sink' | 'action', shared: string): void {
    const variants = connectorNames.map(
      (name) => [name, definition(`${name}-${kind}`).properties ?? {}] as const,
    );
    for (const [name, properties] of variants) {
      for (const [key, schema] of Object.entries(properties)) {
        const isShared = variants.every(([, others]) => key in others);
        addKey(`${isShared ? shared : `${name} ${kind}`}.${key}`, schema);
      }
    }
  }

  function addWhen(): void {
    const { properties = {}, patternProperties = {} } = definition('When');
    const catalogKeys = Object.values(patternProperties).map((schema) => ['test.<key>', schema] as const);
    for (const [key, schema] of [...Object.entries(properties), ...catalogKeys]) {
      keys.set(`rules[].when.${key}`, { ...resolve(schema), ...schema });
      const operators = shapes(schema).flatMap((shape) => Object.entries(shape.properties ?? {}));
      if (!['all', 'any', 'not'].includes(key))
        for (const [operator, inner] of operators) keys.set(`rules[].when.<field>.${operator}`, inner);
    }
  }

  add(root, '');
  addVariants('sink', 'sinks.<name>');
  addVariants('action', 'rules[].then[]');
  addWhen();
  // Look-ups are called as sinks are, and these keys are explained once.
  const isOfSinks = (key: string) =>
    ['webhook sink.', 'sinks.<name>.'].some((start) => keys.has(start + key));
  for (const key of keys.keys()) {
    const own = key.replace('lookups.<name>.', '');
    if (own !== key && own !== 'url' && isOfSinks(own)) keys.delete(key);
  }
  return keys;
}
