// @ts-check
/**
 * The pages of docs/reference as text, from the tables of the code.
 *
 * @typedef {Pick<typeof import('../packages/runtime/src/host.ts'), 'OPERATIONS' | 'PLAIN_ROUTES' | 'ERROR_STATUS' |
 *   'listVariables' | 'splitRoute' | 'toJsonSchema'>} Runtime
 * @typedef {Pick<typeof import('../packages/cli/src/index.ts'), 'CLI_CODES' | 'EXIT' | 'findSuggestion' |
 *   'listGlobalFlags' | 'listPayloads' | 'listVerbs' | 'TREE'>} Cli
 * @typedef {Pick<typeof import('../packages/compiler/src/index.ts'), 'PROBLEM_CODES'>} Compiler
 * @typedef {Pick<typeof import('../packages/control-plane/src/index.ts'), 'createPlane' | 'ERROR_STATUS' | 'errorsOf' |
 *   'readSettings' | 'toSchema' | 'VARIABLES'>} ControlPlane
 * @typedef {import('../packages/runtime/src/host.ts').Operation} Operation
 * @typedef {import('./_json-schema.mjs').JsonSchema} JsonSchema
 */
import { formatAnswer, formatType } from './_json-schema.mjs';
import { code, joinPage, table } from './_markdown.mjs';
import { renderControlPlane } from './_reference-plane.mjs';

/**
 * @param {{ runtime: Runtime, cli: Cli, compiler: Compiler, controlPlane: ControlPlane }} parts
 * @returns {Promise<Record<string, string>>} text by file name
 */
export async function renderReference({ runtime, cli, compiler, controlPlane }) {
  return {
    'routes.md': await renderRoutes(runtime),
    'commands.md': await renderCommands(cli),
    'payloads.json': `${JSON.stringify(await cli.listPayloads(cli.TREE), null, 2)}\n`,
    'environment.md': renderEnvironment(runtime),
    'errors.md': renderErrors({ runtime, cli, compiler }),
    'control-plane.md': await renderControlPlane(controlPlane),
  };
}

// --- internal ---

/** @param {Runtime} runtime */
async function renderRoutes(runtime) {
  const { OPERATIONS, PLAIN_ROUTES } = runtime;
  const tags = [...new Set(OPERATIONS.map(({ tag }) => tag))];
  const rooms = tags.map(async (tag) => {
    const operations = OPERATIONS.filter((op) => op.tag === tag).map((op) => renderOperation(op, runtime));
    return [`## ${tag}`, ...(await Promise.all(operations))].join('\n\n');
  });
  return joinPage([
    '# Routes',
    'A body needs `content-type: application/json`. A refusal is `{ code, message, details?, requestId }` with a code of ' +
      '[errors](errors.md). Every answer carries `x-request-id`. `svc dev` checks no credential; the permission says who ' +
      'may call a box that does. A running box lists its routes at `GET /`. Below each route stands first the id of its operation: ' +
      '`client.call(id, input)`, and what MCP and the activity log call it.',
    '## Chat and probes',
    'The chat wire takes its key as `Authorization: Bearer <key>` or `x-api-key`; under `svc dev` any key will do. Its ' +
      'refusals have the shape its clients know: `{ error: { message, type, param, code } }`.',
    table(
      ['Route', 'What it does'],
      PLAIN_ROUTES.map(({ method, path, summary }) => [code(`${method} ${path}`), summary]),
    ),
    ...(await Promise.all(rooms)),
  ]);
}

/**
 * @param {Operation} op
 * @param {Runtime} runtime
 */
async function renderOperation(op, { splitRoute, toJsonSchema }) {
  const { method, path } = splitRoute(op.route);
  const answer = /** @type {JsonSchema} */ (await toJsonSchema(op.output, 'output'));
  const facts = [
    `${code(op.id)}`,
    `answers ${op.status ?? 200}`,
    op.permission === 'none' ? 'no permission needed' : `permission ${code(op.permission)}`,
    ...(op.cli ? [code(`svc ${op.cli}`)] : []),
  ];
  const rows = listParameters(op, { method, path, schema: await toJsonSchema(op.input, 'input') });
  return [
    `### ${code(op.route)}`,
    `${op.summary}.`,
    facts.join(' · '),
    ...(rows.length > 0 ? [table(['Parameter', 'In', 'Type', 'Default', 'Meaning'], rows)] : []),
    `\`\`\`ts\n${formatAnswer(answer)}\n\`\`\``,
  ].join('\n\n');
}

/**
 * @param {Operation} op
 * @param {{ method: string, path: string, schema: JsonSchema }} input
 */
function listParameters(op, { method, path, schema }) {
  const required = schema.required ?? [];
  return Object.entries(schema.properties ?? {}).map(([name, property]) => {
    const isPath = path.split('/').includes(`:${name}`);
    const isOptional = !isPath && name !== op.body && !required.includes(name);
    return [
      code(isOptional ? `${name}?` : name),
      isPath ? 'path' : placeOf(op, method, name),
      code(formatType(property)),
      property.default === undefined ? '' : code(JSON.stringify(property.default)),
      property.description ?? '',
    ];
  });
}

/**
 * @param {Operation} op
 * @param {string} method
 * @param {string} name
 */
function placeOf({ headers = {}, body, file }, method, name) {
  const header = Object.keys(headers).find((each) => headers[each] === name);
  if (header !== undefined) return `header ${code(header)}`;
  if (name === body || name === file?.member) return 'the whole body';
  return method === 'GET' || method === 'DELETE' || file ? 'query' : 'body';
}

/** @param {Cli} cli */
async function renderCommands({ listVerbs, listGlobalFlags, EXIT, TREE }) {
  const verbs = (await listVerbs(TREE)).map(
    ({ command, description, usage, examples, positionals, flags, schema, payload, stderr }) =>
      [
        `## ${code(command)}`,
        description,
        `\`\`\`sh\n${[usage, ...examples.map((example) => `# ${example}`)].join('\n')}\n\`\`\``,
        ...sectionTable(
          ['Argument or flag', 'Meaning'],
          [
            ...positionals.map((name) => [code(name), schema.properties[name]?.description ?? '']),
            ...flags.map(([flag, meaning]) => [code(flag), meaning]),
          ],
        ),
        ...sectionPayload('Payload', /** @type {JsonSchema} */ (payload)),
        ...(stderr ? sectionPayload('Line on stderr', /** @type {JsonSchema} */ (stderr)) : []),
      ].join('\n\n'),
  );
  return joinPage([
    '# Commands',
    'stdout is the payload, stderr the talk. `--json` prints one document, `{ "schema_version": 1, ...payload }`, or ' +
      '`{ "schema_version": 1, "error": { code, message, suggestion, details } }`; ' +
      '[payloads.json](payloads.json) has the JSON Schema of each.',
    `Exit codes: ${Object.entries(EXIT)
      .map(([name, exit]) => `${exit} ${EXIT_WORDS[/** @type {keyof typeof EXIT} */ (name)]}`)
      .join(', ')}. The codes of an error are in [errors](errors.md).`,
    'Every verb takes:',
    table(
      ['Flag', 'Meaning'],
      listGlobalFlags().map(([flag, meaning]) => [code(flag), meaning]),
    ),
    ...verbs,
  ]);
}

/**
 * One table; of forms that share no member, one for each.
 * @param {string} title
 * @param {JsonSchema} schema
 * @returns {string[]}
 */
function sectionPayload(title, schema) {
  const forms = schema.anyOf ?? [];
  const names = forms.flatMap(({ properties = {} }) => Object.keys(properties).filter((name) => name !== VERSION));
  if (forms.length === 0 || new Set(names).size < names.length)
    return sectionTable([title, 'Type', 'Meaning'], listMembers(schema));
  return forms.flatMap((form) => [
    ...(form.description ? [form.description] : []),
    ...sectionTable([title, 'Type', 'Meaning'], listMembers(form)),
  ]);
}

const VERSION = 'schema_version';

/**
 * A row for each member, with those of objects in it; of several forms, what each has.
 * @param {JsonSchema} schema
 * @returns {string[][]}
 */
function listMembers(schema, prefix = '') {
  if (schema.anyOf) return mergeRows(schema.anyOf.map((form) => listMembers(form, prefix)));
  return Object.entries(schema.properties ?? {})
    .filter(([name]) => name !== VERSION)
    .flatMap(([name, member]) => {
      const path = `${prefix}${name}${(schema.required ?? []).includes(name) ? '' : '?'}`;
      const row = [code(path), code(formatType(member, 1)), member.description ?? ''];
      return [row, ...(prefix === '' ? listNested(member, path) : [])];
    });
}

/**
 * Of an object, or of an array of them, the members that say what they mean.
 * @param {JsonSchema} member
 * @param {string} path
 * @returns {string[][]}
 */
function listNested(member, path) {
  const [inner = {}] = (member.anyOf ?? [member]).filter(({ type }) => type === 'object' || type === 'array');
  const rows = inner.type === 'array' ? listMembers(inner.items ?? {}, `${path}[].`) : listMembers(inner, `${path}.`);
  return rows.filter(([, , meaning]) => meaning !== '');
}

/**
 * @param {string[][][]} forms
 * @returns {string[][]}
 */
function mergeRows(forms) {
  const always = forms.map((rows) => rows.map(([name = '']) => name));
  /** @type {Map<string, string[]>} */
  const merged = new Map();
  for (const [name = '', type = '', meaning = ''] of forms.flat()) {
    const [, known = '', told = ''] = merged.get(name) ?? [];
    const types = known === '' || known === type ? type : code(`${known.slice(1, -1)} | ${type.slice(1, -1)}`);
    merged.set(name, [name, types, told || meaning]);
  }
  return [...merged.values()].map(([name = '', type = '', meaning = '']) => {
    const isOptional = !name.endsWith('?`') && always.some((names) => !names.includes(name));
    return [isOptional ? code(`${name.slice(1, -1)}?`) : name, type, meaning];
  });
}

/** @type {Record<keyof Cli['EXIT'], string>} */
const EXIT_WORDS = {
  ok: 'done',
  generic: 'failed',
  auth: 'not signed in',
  noTarget: 'no box or workspace to talk to',
  notFound: 'not found',
  interrupted: 'interrupted',
};

/** @param {Runtime} runtime */
function renderEnvironment({ listVariables }) {
  return joinPage([
    '# Environment',
    'An empty value counts as unset. Where a file is named, a deployed box takes the value from the file that this variable ' +
      'names instead.',
    table(
      ['Variable', 'Purpose', 'Make a value', 'From a file'],
      listVariables().map(({ name, purpose, make, file }) => [
        code(name),
        purpose,
        make ? code(make) : '',
        file ? code(file) : '',
      ]),
    ),
  ]);
}

/** @param {{ runtime: Runtime, cli: Cli, compiler: Compiler }} parts */
function renderErrors({ runtime, cli, compiler }) {
  const { CLI_CODES, findSuggestion } = cli;
  const byStatus = Object.entries(runtime.ERROR_STATUS).sort(([, a], [, b]) => a - b);
  return joinPage([
    '# Errors',
    'A code never changes once it has shipped; a message may.',
    '## The box',
    'Answered as `{ code, message, details?, requestId }`. `svc` keeps the code and ends with 2 for 401, 4 for 404 and 1 ' +
      'for the rest. Some are printed by `svc dev` while it boots and never answered.',
    table(
      ['Status', 'Code', 'What to do, where the message does not say it'],
      byStatus.map(([name, status]) => [String(status), code(name), findSuggestion(name) ?? '']),
    ),
    '## The command line',
    table(
      ['Code', 'Exit', 'Meaning'],
      Object.entries(CLI_CODES).map(([name, { exitCode, meaning }]) => [code(name), String(exitCode), meaning]),
    ),
    '## Problems of your code',
    '`svc dev` prints them with file, line and frame; `GET /api/workflows/:name` answers them as `problem`.',
    table(
      ['Code', 'Meaning'],
      Object.entries(compiler.PROBLEM_CODES).map(([name, meaning]) => [code(name), meaning]),
    ),
  ]);
}

/**
 * A table, or nothing where there is nothing to show.
 * @param {string[]} head
 * @param {string[][]} rows
 */
function sectionTable(head, rows) {
  return rows.length === 0 ? [] : [table(head, rows)];
}
