import type { z } from 'zod';
import type { RouteEntry } from '../http/app.ts';
import type { RouteDoc } from '../http/route-doc.ts';
import type { OpenApiOperation, Parameter } from './document.ts';
import { BODY_ERRORS, CALLER_ERRORS, COMMON_ERRORS, toErrorResponses } from './errors.ts';
import type { SchemaWriter } from './schema.ts';
import { describeRoute } from './texts.ts';

/** A route that is no operation, as it says itself; one that says nothing is listed all the same. */
export function toPlainOperation(route: RouteEntry, writer: SchemaWriter): OpenApiOperation {
  const doc = route.doc ?? toBareDoc(route);
  const parameters = listParameters(route.path, doc);
  return {
    operationId: doc.id,
    summary: route.summary,
    description: describeRoute(doc),
    tags: [doc.tag],
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(doc.body === undefined ? {} : { requestBody: toRequestBody(doc.body, writer) }),
    responses: { ...toErrorResponses(listErrors(doc), doc.family ?? 'box'), ...toAnswers(doc, writer) },
    security: SECURITY[doc.security],
    'x-svc-route': route.path,
  };
}

// --- internal ---

const SECURITY: Record<RouteDoc['security'], Record<string, string[]>[]> = {
  none: [],
  key: [{ bearer: [] }, { apiKey: [] }],
  caller: [{ bearer: [] }],
  signature: [{ signature: [] }],
  // Each in its own way, which no scheme of the document says.
  sender: [],
};

function toBareDoc({ method, path }: RouteEntry): RouteDoc {
  const words = path.split(/[^\w-]+/).filter((word) => word !== '');
  return {
    id: [...words, method.toLowerCase()].join('.'),
    tag: words[0] ?? 'box',
    security: 'caller',
    ...(method === 'GET' || method === 'DELETE' ? {} : { body: 'any' as const }),
    answers: { 200: { description: 'Done', content: { 'application/json': undefined } } },
  };
}

function listParameters(path: string, { headers = {}, query = {} }: RouteDoc): Parameter[] {
  const toText = (name: string, place: Parameter['in'], description?: string): Parameter => ({
    name,
    in: place,
    required: place === 'path',
    ...(description === undefined ? {} : { description }),
    schema: { type: 'string' },
  });
  return [
    ...[...path.matchAll(/:(\w+)/g)].map(([, name = '']) => toText(name, 'path')),
    ...Object.entries(query).map(([name, meaning]) => toText(name, 'query', meaning)),
    ...Object.entries(headers).map(([name, meaning]) => toText(name, 'header', meaning)),
  ];
}

function toRequestBody(body: z.ZodType | 'any', writer: SchemaWriter): object {
  if (body === 'any') return { required: false, content: { '*/*': { schema: {} } } };
  return { required: true, content: { 'application/json': { schema: writer.toInput(body) } } };
}

function toAnswers({ answers }: RouteDoc, writer: SchemaWriter): Record<string, object> {
  const toContent = (content: Record<string, z.ZodType | undefined>) =>
    Object.fromEntries(
      Object.entries(content).map(([type, schema]) => [
        type,
        { schema: schema ? writer.toOutput(schema) : type === 'application/json' ? {} : { type: 'string' } },
      ]),
    );
  return Object.fromEntries(
    Object.entries(answers).map(([status, { description, content }]) => [
      status,
      { description, ...(content ? { content: toContent(content) } : {}) },
    ]),
  );
}

function listErrors({ security, body, errors = [] }: RouteDoc) {
  return [
    ...COMMON_ERRORS,
    ...(security === 'key' || security === 'caller' ? CALLER_ERRORS : []),
    ...(body === undefined ? [] : BODY_ERRORS),
    ...errors,
  ];
}
