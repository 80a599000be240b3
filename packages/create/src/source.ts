import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { NewFile } from './place.ts';

/** The folders of `templates/` a workspace can begin with. */
export const TEMPLATES = ['empty', 'agent', 'workflow', 'workflow-agent'] as const;
export type TemplateName = (typeof TEMPLATES)[number];

/** What is in the svc.config.ts of the templates for a model that is to be named. */
export const UNNAMED_MODEL = 'vendor/model';

/** The files of a template, sorted, under the names they have in a workspace. */
export function readTemplate(name: TemplateName): NewFile[] {
  const folder = join(findTemplates(), name);
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return entries
    .map((entry) => join(entry.parentPath, entry.name))
    .map((path) => ({
      path: toShipped(
        path
          .slice(folder.length + 1)
          .split(sep)
          .join('/'),
      ),
      text: readFileSync(path, 'utf8'),
    }))
    .sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** One workflow of `templates/pieces/`. */
export function readPiece(name: string): string {
  return readFileSync(join(findTemplates(), 'pieces', `${name}.workflow.ts`), 'utf8');
}

/** The version of the packages a workspace depends on: they are released in step. */
export function readVersion(): string {
  return (JSON.parse(readFileSync(join(PACKAGE, 'package.json'), 'utf8')) as { version: string }).version;
}

/** The checkout of the project this code runs in, or undefined when it was installed from a registry. */
export function findCheckout(): string | undefined {
  const root = join(PACKAGE, '../..');
  const signs = [
    'pnpm-workspace.yaml',
    'packages/runtime/package.json',
    'packages/cli/package.json',
    'templates/empty',
  ];
  return signs.every((sign) => existsSync(join(root, sign))) ? root : undefined;
}

// --- internal ---

/** src/ or dist/ of this package, or the dist/ of the command line, which bundles this code. */
const HERE = dirname(fileURLToPath(import.meta.url));
const PACKAGE = join(HERE, '..');

/** Beside the built code, or at the root of a checkout. */
function findTemplates(): string {
  const shipped = join(HERE, 'templates');
  return existsSync(shipped) ? shipped : join(PACKAGE, '../../templates');
}

/** npm leaves files of these names out of a package, so the templates have them with "_". */
function toShipped(path: string): string {
  return path.replace(/^_(?=gitignore$|npmrc$)/, '.');
}
