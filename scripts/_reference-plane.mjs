// @ts-check
/**
 * docs/reference/control-plane.md as text: the routes and variables of both modes.
 *
 * @typedef {import('./_reference.mjs').ControlPlane} ControlPlane
 * @typedef {import('./_json-schema.mjs').JsonSchema} JsonSchema
 * @typedef {import('../packages/control-plane/src/plane.ts').Plane['routes'][number]} Route
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { formatAnswer, formatType } from './_json-schema.mjs';
import { code, joinPage, table } from './_markdown.mjs';

/** @param {ControlPlane} controlPlane */
export async function renderControlPlane(controlPlane) {
  const { VARIABLES, ERROR_STATUS } = controlPlane;
  const { standalone, full } = await readRoutes(controlPlane);
  const both = full.filter(({ id }) => standalone.some((one) => one.id === id));
  /** @param {readonly Route[]} routes */
  const others = (routes) => routes.filter(({ id }) => !both.some((one) => one.id === id));
  return joinPage([
    '# Control plane',
    '`svc-control-plane` has two modes. With `STUDIO_STANDALONE_TOKEN` it is **standalone**: one box, and whoever holds that ' +
      'token is its operator. Without it it is **full**: people, organisations and installations.',
    'A body is JSON with `content-type: application/json`, where nothing else is said. A refusal is `{ code, message, details?, ' +
      'requestId }`. A write with the cookie of a browser has to come from a page of the control plane; a program sends a token ' +
      'as `Authorization: Bearer <token>`. A running control plane has its document at `GET /api/openapi.json`.',
    '## Variables',
    table(
      ['Variable', 'Mode', 'Purpose', 'Make a value'],
      Object.entries(VARIABLES).map(([name, variable]) => {
        const { purpose, make, mode } = /** @type {{ purpose: string, make?: string, mode?: string }} */ (variable);
        return [code(name), mode ?? 'both', purpose, make ? code(make) : ''];
      }),
    ),
    '## Routes of both modes',
    ...both.map((route) => renderRoute(route, controlPlane)),
    '## Routes of the standalone mode',
    '`/box/<path>` is the box, for pages of the control plane: below `/api`, `/agui`, `/wire-a`, `/wire-b` and `/mcp`, and ' +
      '`/health` and `/live`. It is asked as its operator; 502 `runtime_unreachable` where it does not answer.',
    ...others(standalone).map((route) => renderRoute(route, controlPlane)),
    '## Routes of the full mode',
    ...others(full).map((route) => renderRoute(route, controlPlane)),
    '## Errors',
    table(
      ['Status', 'Code'],
      Object.entries(ERROR_STATUS)
        .toSorted(([, a], [, b]) => a - b)
        .map(([name, status]) => [String(status), code(name)]),
    ),
  ]);
}

// --- internal ---

/**
 * As control planes have them that are made and never listen.
 * @param {ControlPlane} controlPlane
 */
async function readRoutes({ createPlane, readSettings }) {
  const folder = mkdtempSync(join(tmpdir(), 'svc-reference-'));
  /** @param {Record<string, string>} env */
  const read = async (env) => {
    const plane = await createPlane({ settings: readSettings({ SVC_LOG_LEVEL: 'silent', ...env }) });
    await plane.close();
    return plane.routes;
  };
  try {
    const key = Buffer.alloc(32).toString('base64');
    return {
      standalone: await read({ STUDIO_STANDALONE_TOKEN: 'x'.repeat(32) }),
      full: await read({ PLANE_DATA_DIR: folder, PLANE_SECRET_KEY: key }),
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const ACCESS = { anyone: 'for anyone', person: 'for people who are signed in', operator: 'for the operator' };

/**
 * @param {Route} route
 * @param {ControlPlane} controlPlane
 */
function renderRoute(route, { errorsOf, toSchema }) {
  const { id, method, path, summary, access, body, bodyType, query, answer, status = 200 } = route;
  const errors = [...new Set(errorsOf(route))].map(code).join(', ');
  const rows = [
    ...Array.from(path.matchAll(/:(\w+)/g), ([, name = '']) => [code(name), 'path', code('string'), '']),
    ...listMembers('query', query && toSchema(query)),
    ...listMembers(bodyType === 'form' ? 'form' : 'body', body && toSchema(body)),
  ];
  return [
    `### ${code(`${method} ${path}`)}`,
    `${summary}.`,
    [code(id), ACCESS[access], `answers ${status}`, ...(errors === '' ? [] : [`refuses with ${errors}`])].join(' · '),
    ...(rows.length > 0 ? [table(['Parameter', 'In', 'Type', 'Meaning'], rows)] : []),
    ...(answer ? [`\`\`\`ts\n${formatAnswer(/** @type {JsonSchema} */ (toSchema(answer, 'output')))}\n\`\`\``] : []),
  ].join('\n\n');
}

/**
 * @param {string} place
 * @param {JsonSchema | undefined} schema
 */
function listMembers(place, schema) {
  const { properties = {}, required = [] } = schema ?? {};
  return Object.entries(properties).map(([name, member]) => [
    code(required.includes(name) ? name : `${name}?`),
    place,
    code(formatType(member)),
    member.description ?? '',
  ]);
}
