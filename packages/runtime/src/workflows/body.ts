import type { Catalog, WorkflowDefinition } from '../catalog/catalog.ts';
import { CLEANUP_MS } from '../definitions/life-settings.ts';
import type { Body } from '../engine/body.ts';
import type { RunRow } from '../engine/journal/run.ts';
import type { VersionedRun, Versions } from '../versions/versions.ts';
import { checkInput, checkOutput, checkState } from './checks.ts';
import { holdStart } from './held-start.ts';
import { definitionOf, workflowNotFound } from './refusals.ts';

/** What the engine runs: arguments as the author declared them. */
export function toBody(name: string, workflow: WorkflowDefinition): Body {
  const spread = !workflow.inputSchema;
  return {
    codeHash: workflow.codeHash,
    registry: workflow.registry,
    durability: workflow.durability,
    check: (input) => checkInput(name, workflow, input),
    checkState: (state) => checkState(name, workflow, state),
    async run(input) {
      const held = holdStart(name, input);
      if (held) await held;
      const output: unknown = await (spread && isArgs(input) ? workflow.run(...input.args) : workflow.run(input));
      return checkOutput(name, workflow, output);
    },
  };
}

/** What a cancelled run has to clean up, in milliseconds: what its workflow says, should it be known here. */
export function cleanupOf(catalog: Catalog, { kind, name }: Pick<RunRow, 'kind' | 'name'>): number {
  return kind === 'agent' ? 0 : (catalog.findWorkflow(name)?.definition?.cleanupMs ?? CLEANUP_MS);
}

/** The newest code of a workflow. Throws why it cannot be had. */
export function workflowBody(catalog: Catalog, name: string): Body {
  const workflow = catalog.findWorkflow(name);
  if (!workflow) throw workflowNotFound(name, catalog);
  return toBody(name, definitionOf(workflow));
}

/** The code of a run that continues: what it began with, where that is kept. Throws why it cannot be had. */
export async function bodyOfRun(
  catalog: Catalog,
  versions: Pick<Versions, 'findWorkflow'>,
  run: VersionedRun,
): Promise<Body> {
  const { name } = run;
  const own = await versions.findWorkflow(run);
  if (!own) return workflowBody(catalog, name);
  const body = toBody(name, own);
  return {
    ...body,
    // Where the workflow is gone, a chain goes on with what it has.
    newest: async () => (catalog.findWorkflow(name)?.definition ? workflowBody(catalog, name) : body),
  };
}

/** What its schema is about: of positional arguments, the first. */
export function firstOf({ inputSchema }: WorkflowDefinition, input: unknown): unknown {
  return inputSchema && isArgs(input) ? input.args[0] : input;
}

// --- internal ---

function isArgs(input: unknown): input is { args: unknown[] } {
  if (typeof input !== 'object' || input === null) return false;
  return Array.isArray((input as { args?: unknown }).args) && Object.keys(input).length === 1;
}
