import type { H3 } from 'h3';
import { z } from 'zod';
import type { OpenApiDocument } from './document.ts';
import { createFixedAnswer } from '../http/fixed-answer.ts';
import type { FixedAnswer } from '../http/fixed-answer.ts';
import { mountRoute } from '../http/app.ts';
import type { RouteEntry } from '../http/app.ts';

export const OPENAPI_ROUTE: RouteEntry = {
  method: 'GET',
  path: '/api/openapi.json',
  summary: 'Describe the routes this box serves now, as OpenAPI 3.1',
  doc: {
    id: 'openapi.get',
    tag: 'reference',
    security: 'none',
    answers: { 200: { description: 'The document', content: { 'application/json': z.looseObject({}) } } },
  },
};

export function mountOpenApi(app: H3, document: () => Promise<OpenApiDocument>): void {
  let made: Promise<FixedAnswer> | undefined;
  const make = async (): Promise<FixedAnswer> =>
    createFixedAnswer(JSON.stringify(await document()), { 'content-type': 'application/json; charset=utf-8' });
  mountRoute(app, OPENAPI_ROUTE, async ({ req }) => (await (made ??= make())).toResponse(req));
}
