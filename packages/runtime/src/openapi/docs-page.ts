import type { OpenApiDocument, OpenApiOperation, Parameter } from './document.ts';
import { escapeHtml } from '../http/html.ts';

/** The document as a page: every route by tag, with parameters, answers and who may call. */
export function toDocsPage(document: OpenApiDocument, { hasUi }: { hasUi: boolean }): string {
  const title = escapeHtml(document.info.title);
  const sections = document.tags.map((tag) => toSection(tag, listOf(document, tag.name))).join('\n');
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}: reference</title><link rel="icon" href="data:,">
<style>${STYLE}</style>${hasUi ? UI_HEAD : ''}
</head><body><div id="reference"></div><main id="list"><h1>${title}</h1>
<p>${toText(document.info.description)}</p>
<p>For programs: <a href="/api/openapi.json">/api/openapi.json</a></p>
${sections}
</main></body></html>
`;
}

// --- internal ---

interface Listed {
  method: string;
  path: string;
  operation: OpenApiOperation;
}

const STYLE = `#list{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:60rem;padding:0 1rem}
#list summary{cursor:pointer;padding:.2rem 0}#list summary b{display:inline-block;width:4.5rem;font:600 12px ui-monospace,monospace}
#list td{padding:.15rem .8rem .15rem 0;vertical-align:top}#list details>*:not(summary){margin-left:4.5rem}`;

const UI_HEAD = `
<link rel="stylesheet" href="/api/docs/assets/swagger-ui.css">
<script defer src="/api/docs/assets/swagger-ui-bundle.js"></script>
<script type="module" src="/api/docs/assets/init.js"></script>`;

function listOf({ paths }: OpenApiDocument, tag: string): Listed[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, { tags }]) => tags.includes(tag))
      .map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
}

function toSection({ name, description = '' }: OpenApiDocument['tags'][number], routes: Listed[]): string {
  return `<h2>${escapeHtml(name)}</h2>\n<p>${toText(description)}</p>\n${routes.map(toRoute).join('\n')}`;
}

function toRoute({ method, path, operation }: Listed): string {
  const { summary, description, operationId, parameters = [], responses } = operation;
  const rows = [...parameters.map(toParameterRow), ...Object.entries(responses).map(toResponseRow)];
  return `<details id="${escapeHtml(operationId)}"><summary><b>${method}</b> <code>${escapeHtml(path)}</code> ${toText(summary)}</summary>
<p><code>${escapeHtml(operationId)}</code>: ${toText(description)}</p><table>${rows.join('')}</table></details>`;
}

function toParameterRow({ name, in: place, required, description = '' }: Parameter): string {
  return toRow(`${name}${required ? '' : '?'}`, description === '' ? place : `${place}: ${description}`);
}

function toResponseRow([status, response]: [string, object]): string {
  return toRow(status, (response as { description: string }).description);
}

function toRow(name: string, meaning: string): string {
  return `<tr><td><code>${escapeHtml(name)}</code></td><td>${toText(meaning)}</td></tr>`;
}

/** Text in which backquotes mark code. */
function toText(text: string): string {
  return escapeHtml(text).replace(/`([^`]*)`/g, '<code>$1</code>');
}
