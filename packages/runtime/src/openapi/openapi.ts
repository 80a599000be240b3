import type { ErrorCode } from '../errors.ts';
import type { RouteEntry } from '../http/app.ts';
import type { JsonSchema } from '../schema/schema.ts';
import type { Operation } from '../operations/define.ts';
import { splitRoute } from '../operations/define.ts';
import { COMPONENTS, INPUT_COMPONENTS } from './components.ts';
import type { OpenApiDocument, OpenApiOperation, Parameter } from './document.ts';
import { BODY_ERRORS, CALLER_ERRORS, COMMON_ERRORS, toErrorResponses } from './errors.ts';
import { toPlainOperation } from './plain.ts';
import { createSchemaWriter } from './schema.ts';
import type { SchemaWriter } from './schema.ts';
import { describeOperation, describeTag } from './texts.ts';

export interface OpenApiOptions {
  title: string;
  version: string;
  serverUrl: string;
  operations: readonly Operation[];
  /** Routes that are no operations. */
  routes: readonly RouteEntry[];
}

/** The document of what a box serves: a projection of its operations and of the routes beside them. */
export function toOpenApi({ title, version, serverUrl, operations, routes }: OpenApiOptions): OpenApiDocument {
  const writer = createSchemaWriter(COMPONENTS, INPUT_COMPONENTS);
  const entries = [
    ...routes.map((route) => ({ ...route, content: toPlainOperation(route, writer) })),
    ...operations.map((op) => ({ ...splitRoute(op.route), content: toOperation(op, writer) })),
  ];
  const paths: OpenApiDocument['paths'] = {};
  for (const { method, path, content } of entries) (paths[toTemplate(path)] ??= {})[method.toLowerCase()] = content;
  return {
    openapi: '3.1.0',
    info: { title, version, description: DESCRIPTION, license: { name: 'Apache-2.0', identifier: 'Apache-2.0' } },
    servers: [{ url: serverUrl }],
    tags: [...new Set(entries.flatMap(({ content }) => content.tags))].sort().map(describeTag),
    paths,
    components: { schemas: writer.components(), securitySchemes: SECURITY_SCHEMES },
  };
}

// --- internal ---

const DESCRIPTION =
  'The routes this box serves now. `svc dev` checks no credential; a deployed box asks for one wherever `security` names it. ' +
  '`x-svc-permission` is what the caller must be allowed, `x-svc-confirm` marks what a model asks a person before.';

const SECURITY_SCHEMES = {
  bearer: { type: 'http', scheme: 'bearer', description: 'What lets a person or a program in, or an API key' },
  apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key', description: 'An API key' },
  signature: {
    type: 'apiKey',
    in: 'header',
    name: 'x-svc-signature',
    description: 'HMAC-SHA256 of the call under the secret the box shares with its control plane',
  },
};

function toOperation(op: Operation, writer: SchemaWriter): OpenApiOperation {
  const { method, path } = splitRoute(op.route);
  const { parameters, requestBody } = splitInput(op, writer.toInput(op.input));
  const answer =
    op.answer === 'sse'
      ? { 'text/event-stream': { schema: { type: 'string' } } }
      : { 'application/json': { schema: writer.toOutput(op.output) } };
  return {
    operationId: op.id,
    summary: op.summary,
    description: describeOperation(op),
    tags: [op.tag],
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(requestBody ? { requestBody } : {}),
    responses: {
      [String(op.status ?? 200)]: { description: op.answer === 'sse' ? 'The event stream' : 'Done', content: answer },
      ...toErrorResponses(listErrors(op, method !== 'GET' && method !== 'DELETE', parameters), 'box'),
    },
    security: op.permission === 'none' ? [] : op.keys ? [{ bearer: [] }, { apiKey: [] }] : [{ bearer: [] }],
    'x-svc-route': path,
    'x-svc-kind': op.kind,
    ...(op.permission === 'none' ? {} : { 'x-svc-permission': op.permission }),
    ...(op.confirm ? { 'x-svc-confirm': true } : {}),
    ...(op.copilot === 'yes' ? {} : { 'x-svc-copilot': op.copilot }),
    ...(op.cli === undefined ? {} : { 'x-svc-cli': `svc ${op.cli}` }),
  };
}

/** Where each member of the input comes from, as `surface/http.ts` reads it. */
function splitInput(op: Operation, input: JsonSchema): { parameters: Parameter[]; requestBody?: object } {
  const { method, path } = splitRoute(op.route);
  const members = Object.entries((input.properties ?? {}) as Record<string, JsonSchema>);
  const required = new Set((input.required ?? []) as string[]);
  const headers = new Map(Object.entries(op.headers ?? {}).map(([header, member]) => [member, header]));
  // That of a body is said with the body.
  const type = op.headers?.['content-type'];
  const isRead = method === 'GET' || method === 'DELETE';
  const placeOf = (name: string): Parameter['in'] | 'body' => {
    if (path.split('/').includes(`:${name}`)) return 'path';
    if (headers.has(name)) return 'header';
    if (op.file) return name === op.file.member ? 'body' : 'query';
    return isRead ? 'query' : 'body';
  };
  const parameters = members.flatMap(([name, schema]) => {
    const place = placeOf(name);
    if (place === 'body' || name === type) return [];
    const isRequired = place === 'path' || required.has(name);
    const parameter = toParameter(headers.get(name) ?? name, place, schema, isRequired);
    // A browser's EventSource sets no header: what a read takes as one it takes from the query too.
    return place === 'header' && isRead ? [parameter, toParameter(name, 'query', schema, false)] : parameter;
  });
  const body = members.filter(([name]) => placeOf(name) === 'body');
  if (body.length === 0) return { parameters };
  if (op.file) return { parameters, requestBody: FILE_BODY };
  return { parameters, requestBody: op.body === undefined ? toBody(body, required) : toWholeBody(input, op.body) };
}

function toParameter(name: string, place: Parameter['in'], schema: JsonSchema, required: boolean): Parameter {
  const { description, ...rest } = schema;
  return { name, in: place, required, ...(description ? { description: String(description) } : {}), schema: rest };
}

const FILE_BODY = { required: true, content: { '*/*': { schema: { type: 'string', format: 'binary' } } } };

function toBody(members: [string, JsonSchema][], required: Set<string>): object {
  const needed = members.map(([name]) => name).filter((name) => required.has(name));
  const schema = {
    type: 'object',
    properties: Object.fromEntries(members),
    ...(needed.length > 0 ? { required: needed } : {}),
    additionalProperties: false,
  };
  return { required: needed.length > 0, content: { 'application/json': { schema } } };
}

/** An empty body stands for `{}`. */
function toWholeBody(input: JsonSchema, member: string): object {
  const schema = (input.properties as Record<string, JsonSchema>)[member] ?? {};
  return { required: false, content: { 'application/json': { schema } } };
}

function listErrors(op: Operation, hasBody: boolean, parameters: Parameter[]): ErrorCode[] {
  const names = new Set(parameters.map(({ name }) => name));
  return [
    ...COMMON_ERRORS,
    ...(op.permission === 'none' ? [] : CALLER_ERRORS),
    ...(hasBody ? BODY_ERRORS : []),
    'invalid_request',
    ...(names.has('cursor') ? (['invalid_cursor'] as const) : []),
    ...(names.has('idempotency-key') ? (['idempotency_conflict'] as const) : []),
    ...(op.kind === 'write' ? (['store_full'] as const) : []),
    ...(op.errors ?? []),
  ];
}

/** `/api/runs/:id` is `/api/runs/{id}`. */
function toTemplate(path: string): string {
  return path.replace(/:(\w+)/g, '{$1}');
}
