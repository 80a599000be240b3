import { CommandError } from './errors.ts';

export type EntryKind = 'agent' | 'workflow';

/** Lower-case letters, digits and "-": the name of the package, and what svc.json calls the slug. */
export function checkWorkspaceName(name: string): void {
  const suggestion = 'For example: --name my-workspace';
  if (!WORKSPACE_NAME.test(name))
    throw new CommandError(
      'name_invalid',
      `"${name}" cannot be the name of a workspace. Use 1 to 63 lower-case letters, digits and "-", beginning with a letter or a digit.`,
      { suggestion },
    );
  if (DEPENDENCIES.includes(name))
    throw new CommandError(
      'name_refused',
      `A workspace cannot be named "${name}": it depends on the package of that name, and no package may depend on itself.`,
      { suggestion },
    );
}

/** The workspace name closest to a folder's. */
export function toWorkspaceName(folder: string): string {
  const name = toWords(folder).replaceAll('_', '-').slice(0, 63);
  if (name === '') return 'workspace';
  return DEPENDENCIES.includes(name) ? `${name}-workspace` : name;
}

/** Throws where the compiler would refuse the folder or the file. */
export function checkEntryName(kind: EntryKind, name: string): void {
  if (!ENTRY_NAME.test(name)) {
    const better = toWords(name).slice(0, 64);
    throw new CommandError(
      'name_invalid',
      `"${name}" cannot be the name of ${kind === 'agent' ? 'an agent' : 'a workflow'}. Use 1 to 64 lower-case letters, digits, "-" and "_", beginning with a letter or a digit.`,
      { suggestion: better ? `For example: ${better}` : 'For example: support' },
    );
  }
  if (kind === 'workflow' && REFUSED_WORKFLOWS.includes(name))
    throw new CommandError(
      'name_refused',
      `A workflow cannot be named "${name}": /api/workflows/${name} is a route of the box.`,
      { suggestion: 'Choose another name.' },
    );
}

/** What a person should know about a name that is allowed, a sentence each. */
export function listNameWarnings(kind: EntryKind, name: string): string[] {
  if (kind === 'workflow') return [];
  const warnings: string[] = [];
  if (name.includes('codex'))
    warnings.push(
      `Some clients take a model whose name contains "codex" for one of another wire: they call /wire-a/v1/responses for "${name}" and get 404. Choose another name if they are to talk to it.`,
    );
  if (/^(?:o\d|gpt-5)/.test(name))
    warnings.push(
      `Some clients take "${name}" for a reasoning model by its name: they send other roles and limits, and drop the temperature. Choose another name if that is not meant.`,
    );
  if (name === COPILOT)
    warnings.push(
      `An agent named "${COPILOT}" replaces the built-in copilot, and the models routes and agent lists do not show it.`,
    );
  return warnings;
}

/** The name of the exported function of a workflow. */
export function toFunctionName(name: string): string {
  const camel = name.replaceAll(/[-_]+([a-z0-9]?)/g, (_, letter: string) => letter.toUpperCase());
  return `${/^\d/.test(camel) ? '_' : ''}${camel}Workflow`;
}

// --- internal ---

const WORKSPACE_NAME = /^[a-z0-9][a-z0-9-]{0,62}$/;
const ENTRY_NAME = /^[a-z0-9][a-z0-9_-]{0,63}$/;
/** As the runtime has them; a test keeps the two lists equal. */
const REFUSED_WORKFLOWS = ['runs', 'hooks'];
const COPILOT = 'studio-copilot';
/** What the template's package.json names without a scope. */
const DEPENDENCIES = ['zod', 'typescript'];

function toWords(text: string): string {
  return text
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1-$2')
    .toLowerCase()
    .replaceAll(/[^a-z0-9_]+/g, '-')
    .replaceAll(/^[-_]+|[-_]+$/g, '');
}
