import { z } from 'zod';
import { ERROR_STATUS } from './errors.ts';
import type { ErrorCode } from './errors.ts';
import type { RawRoute, Route } from './http/route.ts';

/** The control plane's own document, made of the list of its routes. */
export function openApiRoute(routes: () => readonly Route[], publicUrl: () => string): RawRoute {
  let text: string | undefined;
  return {
    method: 'GET',
    path: '/api/openapi.json',
    handle() {
      text ??= JSON.stringify(toOpenApi(routes(), publicUrl()));
      return new Response(text, { headers: { 'content-type': 'application/json; charset=utf-8' } });
    },
  };
}

export function toOpenApi(routes: readonly Route[], serverUrl: string): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const one of routes) {
    const path = one.path.replace(/:(\w+)/g, '{$1}');
    (paths[path] ??= {})[one.method.toLowerCase()] = toOperation(one);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'svc control plane',
      version: '1',
      description: 'Sign-in, organisations, installations and the tokens boxes trust.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: serverUrl }],
    tags: [...new Set(routes.map(({ tag }) => tag))].map((name) => ({ name })),
    paths,
    components: {
      schemas: { Error: z.toJSONSchema(ErrorBody), OauthError: z.toJSONSchema(OauthErrorBody) },
      securitySchemes: {
        session: { type: 'apiKey', in: 'cookie', name: 'svc_session' },
        bearer: { type: 'http', scheme: 'bearer' },
      },
    },
  };
}

/** Every code a route may answer, those of its door with it. */
export function errorsOf({ access, body, query, method, origin, errors = [] }: Route): ErrorCode[] {
  return [
    ...(body || query ? (['invalid_request'] as const) : []),
    ...(access === 'anyone' ? [] : (['unauthorized'] as const)),
    ...(method === 'GET' || origin === 'never' ? [] : (['origin_not_allowed'] as const)),
    ...errors,
  ];
}

/** The JSON Schema of what is sent, or of what is answered. */
export function toSchema(schema: z.ZodType, io: 'input' | 'output' = 'input'): object {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
  return rest;
}

// --- internal ---

const ErrorBody = z.object({
  code: z.string(),
  message: z.string(),
  details: z.record(z.string(), z.unknown()).optional(),
  requestId: z.string(),
});

const OauthErrorBody = z.object({ error: z.string(), error_description: z.string() });

function toOperation(one: Route): object {
  const { id, summary, tag, path, access, body, bodyType, query, answer, status = 200 } = one;
  const errorSchema = one.toErrorBody ? 'OauthError' : 'Error';
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of errorsOf(one)) {
    const answered = ERROR_STATUS[code];
    byStatus.set(answered, [...(byStatus.get(answered) ?? []), code]);
  }
  return {
    operationId: id,
    summary,
    tags: [tag],
    parameters: [
      ...[...path.matchAll(/:(\w+)/g)].map(([, name]) => ({
        name,
        in: 'path',
        required: true,
        schema: { type: 'string' },
      })),
      ...(query ? toQueryParameters(query) : []),
    ],
    ...(body
      ? {
          requestBody: {
            required: true,
            content: {
              [bodyType === 'form' ? 'application/x-www-form-urlencoded' : 'application/json']: {
                schema: toSchema(body),
              },
            },
          },
        }
      : {}),
    responses: {
      [status]: {
        description: summary,
        ...(answer ? { content: { 'application/json': { schema: toSchema(answer) } } } : {}),
      },
      ...Object.fromEntries(
        [...byStatus].map(([code, names]) => [
          code,
          {
            description: names.join(', '),
            content: { 'application/json': { schema: { $ref: `#/components/schemas/${errorSchema}` } } },
          },
        ]),
      ),
    },
    security: access === 'anyone' ? [] : access === 'operator' ? [{ session: [] }] : [{ session: [] }, { bearer: [] }],
  };
}

function toQueryParameters(query: z.ZodType): object[] {
  const { properties = {}, required = [] } = toSchema(query) as {
    properties?: Record<string, object>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    schema,
  }));
}
