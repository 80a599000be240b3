import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { H3 } from 'h3';
import { BoxError } from '../errors.ts';
import type { OpenApiDocument } from './document.ts';
import { createFixedAnswer } from '../http/fixed-answer.ts';
import type { FixedAnswer } from '../http/fixed-answer.ts';
import { mountRoute } from '../http/app.ts';
import type { RouteEntry } from '../http/app.ts';
import { toDocsPage } from './docs-page.ts';

const PAGE: RouteEntry = {
  method: 'GET',
  path: '/api/docs',
  summary: 'Browse the routes this box serves now',
  doc: {
    id: 'docs.page',
    tag: 'reference',
    security: 'none',
    answers: { 200: { description: 'The page', content: { 'text/html': undefined } } },
  },
};
const ASSET: RouteEntry = {
  method: 'GET',
  path: '/api/docs/assets/:file',
  summary: 'Get a script or a style sheet of the reference page',
  doc: {
    id: 'docs.asset',
    tag: 'reference',
    security: 'none',
    errors: ['not_found'],
    answers: { 200: { description: 'The file', content: { 'text/javascript': undefined, 'text/css': undefined } } },
  },
};

export const DOCS_ROUTES: RouteEntry[] = [PAGE, ASSET];

/**
 * A reference of the running routes that needs no other host. The page lists them by itself; where the browser runs
 * scripts, the reference UI takes its place.
 */
export function mountDocs(app: H3, document: () => Promise<OpenApiDocument>): void {
  const made = new Map<string, Promise<FixedAnswer>>();
  const answer = async (name: string, make: () => Promise<FixedAnswer>, request: Request): Promise<Response> => {
    const known = made.get(name) ?? make();
    made.set(name, known);
    known.catch(() => made.delete(name));
    return (await known).toResponse(request);
  };
  mountRoute(app, PAGE, ({ req }) => answer('', async () => toPage(await document()), req));
  mountRoute(app, ASSET, async ({ req, context }) => {
    const name = context.params?.file ?? '';
    const type = ASSETS.get(name);
    if (type === undefined) throw noAsset(name);
    return answer(name, () => toAsset(name, type), req);
  });
}

// --- internal ---

/** Everything from this box, and nothing in the page itself but styles the UI sets. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const INIT = 'init.js';
const BUNDLE = 'swagger-ui-bundle.js';
const ASSETS = new Map([
  [INIT, 'text/javascript; charset=utf-8'],
  [BUNDLE, 'text/javascript; charset=utf-8'],
  ['swagger-ui.css', 'text/css; charset=utf-8'],
]);

/** Calls go to the address the page came from, whatever name the box has for itself. */
const INIT_SCRIPT = `const answer = await fetch('/api/openapi.json');
const spec = { ...(await answer.json()), servers: [{ url: location.origin }] };
SwaggerUIBundle({
  spec,
  domNode: document.getElementById('reference'),
  deepLinking: true,
  docExpansion: 'list',
  filter: true,
  validatorUrl: null,
  onComplete: () => document.getElementById('list').remove(),
});
`;

function toPage(document: OpenApiDocument): FixedAnswer {
  const page = toDocsPage(document, { hasUi: findUi() !== undefined });
  return createFixedAnswer(page, { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': POLICY });
}

async function toAsset(name: string, type: string): Promise<FixedAnswer> {
  const folder = findUi();
  if (name !== INIT && folder === undefined) throw noAsset(name);
  const text = name === INIT ? INIT_SCRIPT : await readFile(join(folder ?? '', name), 'utf8');
  return createFixedAnswer(text, { 'content-type': type, 'cache-control': 'max-age=3600' });
}

function noAsset(name: string): BoxError {
  return new BoxError('not_found', `The reference page has no file "${name}".`);
}

/** The folder of the UI: the build puts it beside itself; from source it is the package. Undefined: there is neither. */
function findUi(): string | undefined {
  const built = fileURLToPath(new URL('./docs', import.meta.url));
  if (existsSync(join(built, BUNDLE))) return built;
  try {
    return dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
  } catch {
    return undefined;
  }
}
