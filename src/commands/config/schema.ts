import { z } from 'zod';
import { connectors } from '../../../connectors/index.ts';
import { actionSchema, alertActionSchema } from '../../config/actions.ts';
import { hoursSchema } from '../../config/hours.ts';
import { messageSchemas } from '../../config/locale-and-links.ts';
import { alertsSchema, summarySchema } from '../../config/alerts.ts';
import { catalogEntry, testIdKey } from '../../config/catalog.ts';
import { lookupConnector, lookupSchema } from '../../config/lookups/lookup-sinks.ts';
import { lookupName } from '../../config/lookups/lookups.ts';
import { ruleShape, silentWord } from '../../config/rules.ts';
import { policySchema } from '../../config/policies/policies.ts';
import { scenarioSchema } from '../../config/scenarios.ts';
import { settingSchemas } from '../../config/settings.ts';
import { sinkName, sinkSchema } from '../../config/sinks.ts';
import type { AnyConnector } from '../../connector.ts';
import { isMap, type Json, type JsonMap } from '../../model.ts';
import { command } from '../command.ts';
import { exit } from '../output.ts';

export const schemaCommand = command({
  name: 'schema',
  description: "print the config's JSON Schema, for editors",
  examples: ['schema > config.schema.json'],
  async run(_options, io) {
    io.out(jsonSchemaText().trimEnd());
    return exit.ok;
  },
});

const aboutTable = 'A table (CSV) in place of entries, as in tests.csv, relative to the config.';

/** The whole config as one schema. Loading uses its parts: which keys an action may have depends on its sink. */
function configSchema(all: readonly AnyConnector[]) {
  const ofEvents = all.map((one) => named(withoutDefaults(actionSchema(one), one, 'event'), one, 'action'));
  const ofNotices = all.map((one) =>
    named(withoutDefaults(alertActionSchema(one), one, 'notice'), one, 'alert'),
  );
  const [actions, alertActions] = [z.array(anyOf(ofEvents)), z.array(anyOf(ofNotices))];
  const sinks = all.map((connector) => named(sinkSchema(connector), connector, 'sink'));
  const asking = lookupConnector(all);
  const lookups = asking ? [named(lookupSchema(asking), asking, 'options')] : [];
  return z.strictObject({
    $schema: z.string().optional().describe('Where editors find the schema, in a config written as JSON.'),
    ...settingSchemas,
    ...messageSchemas,
    catalog: z
      .union([z.record(testIdKey, catalogEntry), z.strictObject({ file: z.string().describe(aboutTable) })])
      .optional()
      .describe("What the service's test ids mean to you; templates see an entry as `test`."),
    hours: z
      .record(z.string(), hoursSchema)
      .optional()
      .describe('Opening hours by name; actions refer to them.'),
    lookups: z
      .record(lookupName, anyOf(lookups))
      .optional()
      .describe('What is asked about an event before it is decided, each under a name of your own.'),
    sinks: z.record(sinkName, anyOf(sinks)).describe('Where messages go, each under a name of your own.'),
    rules: z
      .array(
        z.strictObject({
          ...ruleShape,
          then: actions.describe('What to do, in order; an empty list ignores the event.'),
        }),
      )
      .describe('Who hears of which events. Every matching rule applies, in order.'),
    unmatched: z
      .union([z.literal(silentWord), actions])
      .optional()
      .describe('Actions for events that no rule matched; `silent` where nobody is meant to hear of them.'),
    alerts: alertsSchema(alertActions.describe('What to send, and where to.'))
      .optional()
      .describe('Messages about the connector itself.'),
    summary: summarySchema(alertActions.describe('What to send, and where to.'))
      .optional()
      .describe('What came in a week, what became of it, and what needs a person.'),
    scenarios: z
      .array(scenarioSchema)
      .optional()
      .describe('What has to become of an event, or of several in their time; `check` compares.'),
    policies: z
      .array(policySchema(new Map(all.map((one) => [one.name, one]))))
      .optional()
      .describe('What must hold for every event that could come; `check` proves it.'),
  });
}

/** Makes the keys with a default text optional. */
function withoutDefaults(
  { shape }: z.ZodObject,
  connector: AnyConnector,
  about: 'event' | 'notice',
): z.ZodObject {
  const keys = (connector.defaultFields?.(about, false) ?? []).flatMap(Object.keys);
  const spared = keys.flatMap((key) => (shape[key] ? [[key, z.optional(shape[key])] as const] : []));
  return z.strictObject({ ...shape, ...Object.fromEntries(spared) });
}

const named = (schema: z.ZodObject, { name }: AnyConnector, what: string): z.ZodObject =>
  schema.meta({ id: `${name}-${what}`, title: `${name} ${what}` });

const anyOf = (schemas: readonly z.ZodObject[]): z.ZodType =>
  schemas.length === 0 ? z.never() : z.union(schemas);

/** The JSON Schema of the config file, as `candidate-connector schema` prints it. */
export function jsonSchemaText(): string {
  const whole = z.toJSONSchema(configSchema([...connectors.values()]), {
    io: 'input',
    unrepresentable: 'any',
    // Editors' YAML support knows this draft best.
    target: 'draft-07',
  }) as Json;
  return `${JSON.stringify(withEmptySections(withReferences(whole) as JsonMap), null, 2)}\n`;
}

/** Lets nothing stand under the top keys that a config may lack: whose keys are all commented out. */
function withEmptySections({ properties, ...whole }: JsonMap): JsonMap {
  const mayBeEmpty = ([key, schema]: [string, Json]): [string, Json] => {
    if ((whole['required'] as readonly string[]).includes(key)) return [key, schema];
    const { description, default: standard, ...one } = schema as JsonMap;
    const said = {
      ...(description !== undefined && { description }),
      ...(standard !== undefined && { default: standard }),
    };
    const shapes = Array.isArray(one['anyOf']) ? (one['anyOf'] as Json[]) : [one];
    return [key, { ...said, anyOf: [...shapes, { type: 'null' }] }];
  };
  return { ...whole, properties: Object.fromEntries(Object.entries(properties as JsonMap).map(mayBeEmpty)) };
}

/** Lets `${…}` stand where anything but free text is expected. Drops what only this program reads. */
function withReferences(schema: Json): Json {
  if (Array.isArray(schema)) return (schema as readonly Json[]).map(withReferences);
  if (!isMap(schema)) return schema;
  const { secret: _, ...own } = schema;
  const inner = Object.fromEntries(Object.entries(own).map(([key, value]) => [key, inKeyword(key, value)]));
  if (!isNarrow(inner)) return inner;
  const { description, default: standard, ...narrow } = inner;
  return {
    ...(description !== undefined && { description }),
    ...(standard !== undefined && { default: standard }),
    anyOf: [narrow, { type: 'string', pattern: String.raw`\$\{.+\}` }],
  };
}

/** What a keyword of a schema holds: a schema, several, schemas by name, or a plain value. */
function inKeyword(keyword: string, value: Json): Json {
  if (['items', 'additionalProperties', 'anyOf', 'oneOf', 'allOf', 'not'].includes(keyword))
    return withReferences(value);
  if (['properties', 'patternProperties', 'definitions'].includes(keyword) && isMap(value))
    return Object.fromEntries(Object.entries(value).map(([name, schema]) => [name, withReferences(schema)]));
  return value;
}

/** Whether a schema is of a single value, but not of free text. */
function isNarrow(schema: JsonMap): boolean {
  const { type } = schema;
  if (type === 'number' || type === 'integer' || type === 'boolean') return true;
  return type === 'string' && ['enum', 'pattern', 'format'].some((key) => schema[key] !== undefined);
}
