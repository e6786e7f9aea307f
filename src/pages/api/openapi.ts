import { z } from 'zod';

/** Describes the API in OpenAPI 3.1. */

/** An endpoint: how it is called, and what it answers. */
export interface DescribedRoute {
  readonly method: 'get' | 'post';
  /** A path of OpenAPI, below `/api`, such as `/events/{id}`. */
  readonly path: string;
  readonly summary: string;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodObject;
  readonly answer: z.ZodType;
}

const problem = z.object({
  type: z.string(),
  title: z.string(),
  status: z.int(),
  detail: z.string(),
  errors: z.array(z.object({ field: z.string(), pointer: z.string(), detail: z.string() })).optional(),
});

const schemaOf = (schema: z.ZodType, io: 'input' | 'output' = 'output') => {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
  return rest;
};

const content = (type: string, schema: z.ZodType, io?: 'input') => ({
  content: { [type]: { schema: schemaOf(schema, io) } },
});

export function openApi(all: readonly DescribedRoute[]) {
  const paths = Map.groupBy(all, ({ path }) => `/api${path}`);
  return {
    openapi: '3.1.0',
    info: {
      title: 'Candidate Connector',
      version: '1',
      description: 'What the operations page shows and does, for programs.',
    },
    security: [{ password: [] }],
    components: {
      securitySchemes: {
        password: {
          type: 'http',
          scheme: 'basic',
          description:
            'Any user name, which the audit has, and admin.password; or admin.viewer, for what reads: without personal fields of look-ups, and messages that may have them.',
        },
      },
    },
    paths: Object.fromEntries(
      [...paths].map(([path, routes]) => [
        path,
        Object.fromEntries(routes.map((one) => [one.method, operationOf(one)])),
      ]),
    ),
  };
}

function operationOf({ path, summary, query, body, answer }: DescribedRoute) {
  const { properties = {} } = query ? schemaOf(query, 'input') : {};
  return {
    summary,
    parameters: [
      ...Array.from(path.matchAll(/\{(\w+)\}/g), ([, name]) => ({
        name,
        in: 'path',
        required: true,
        schema: { type: 'string' },
      })),
      ...Object.entries(properties).map(([name, schema]) => ({ name, in: 'query', required: false, schema })),
    ],
    ...(body && { requestBody: { required: false, ...content('application/json', body, 'input') } }),
    responses: {
      200: { description: 'As asked.', ...content('application/json', answer) },
      default: { description: 'Why not.', ...content('application/problem+json', problem) },
    },
  };
}
