import type { DeployPlan } from './plan.ts';
import { listDeployVariables } from './variables.ts';
import type { DeployVariable } from './variables.ts';

/**
 * The text of `.env`. A value that is there is never changed and no line goes away: variables that are missing are added
 * at the end, and a generated one that stands there empty gets its value.
 */
export function emitEnv(
  { target }: DeployPlan,
  { existing, random }: { existing: string | undefined; random(bytes: number): Buffer },
): string {
  const variables = listDeployVariables(target);
  if (existing === undefined) return [ENV_HEADER, ...variables.map((one) => formatEntry(one, random))].join('\n');
  const set = readEnvText(existing);
  const filled = existing.replace(EMPTY_LINE, (line, name: string) => {
    const made = variables.find((one) => one.name === name)?.generate?.(random);
    // Of a name that stands there twice the last counts, which may be another line than this one.
    return made === undefined || set.get(name) !== '' ? line : `${name}=${made}`;
  });
  const missing = variables.filter(({ name }) => !set.has(name));
  if (missing.length === 0) return filled;
  const end = filled === '' || filled.endsWith('\n') ? '' : '\n';
  return `${filled}${end}\n${missing.map((one) => formatEntry(one, random)).join('\n')}`;
}

/** The same variables with a comment each and no values. */
export function emitEnvExample({ target }: DeployPlan): string {
  return [EXAMPLE_HEADER, ...listDeployVariables(target).map((one) => formatEntry(one))].join('\n');
}

/** What `.env` leaves open and a person should know of: what the composition asks for first, then what works worse. */
export function listOpenVariables({ target }: DeployPlan, env: string): DeployVariable[] {
  const set = readEnvText(env);
  const open = listDeployVariables(target).filter(({ name }) => !set.get(name));
  const isRequired = ({ required }: DeployVariable) => required.includes(target);
  return [...open.filter(isRequired), ...open.filter((one) => !isRequired(one) && one.without !== undefined)];
}

/** The values of an `.env`, by name. Quotes around a value are not part of it. */
export function readEnvText(text: string): Map<string, string> {
  const lines = text.matchAll(/^[ \t]*(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_]*)[ \t]*=[ \t]*(.*?)[ \t]*$/gm);
  return new Map(Array.from(lines, ([, name = '', value = '']) => [name, value.replace(/^(["'])(.*)\1$/, '$2')]));
}

// --- internal ---

const ENV_HEADER = `# Written by svc package, which adds to this file and never changes a value in it. Keep it secret, and keep a copy.
`;
const EXAMPLE_HEADER = `# Written by svc package: the variables of .env, without their values.
`;
/** A line of `.env` that sets a name to nothing. */
const EMPTY_LINE = /^[ \t]*(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_]*)[ \t]*=[ \t]*(?:""|'')?[ \t]*$/gm;

function formatEntry(variable: DeployVariable, random?: (bytes: number) => Buffer): string {
  const { name, comment, generate } = variable;
  return `# ${comment}\n${name}=${random ? (generate?.(random) ?? '') : ''}\n`;
}
