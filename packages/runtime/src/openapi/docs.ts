import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { H3 } from 'h3';
import { BoxError } from '../errors.ts';
import type { OpenApiDocument } from './document.ts';
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
  mountRoute(app, PAGE, async () => {
    const page = toDocsPage(await document(), { hasUi: findUi() !== undefined });
    return new Response(page, {
      headers: { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': POLICY },
    });
  });
  mountRoute(app, ASSET, async (event) => {
    const name = event.context.params?.file ?? '';
    const type = ASSETS.get(name);
    const text = type === undefined ? undefined : await readAsset(name);
    if (type === undefined || text === undefined)
      throw new BoxError('not_found', `The reference page has no file "${name}".`);
    return new Response(text, { headers: { 'content-type': type, 'cache-control': 'max-age=3600' } });
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

async function readAsset(name: string): Promise<string | undefined> {
  if (name === INIT) return INIT_SCRIPT;
  const folder = findUi();
  return folder === undefined ? undefined : readFile(join(folder, name), 'utf8');
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
