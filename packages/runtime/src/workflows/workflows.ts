import type { Catalog, LoadedWorkflow, WorkflowDefinition } from '../catalog/catalog.ts';
import type { Engine } from '../engine/engine.ts';
import type { Body } from '../engine/execution.ts';
import type { RunTrigger } from '../engine/journal.ts';
import { BoxError } from '../errors.ts';
import type { Problem } from '../manifest.ts';
import type { JsonSchema } from '../schema/schema.ts';
import { parseWith, toJsonSchema } from '../schema/schema.ts';

export interface StartReceipt {
  workflowName: string;
  status: 'started';
  runId: string;
  /** The engine's own run id; the run record carries it as `traceId`. */
  worldRunId: string;
  trigger: string;
}

export interface WorkflowSummary {
  name: string;
  /** The start route. */
  trigger: string;
  hasSchema: boolean;
  mode: 'task';
  steps: { id: string; name: string }[];
  state: 'ready' | 'failed';
  problem: Problem | null;
}

export interface Workflows {
  list(): WorkflowSummary[];
  get(name: string): WorkflowSummary;
  schema(name: string): Promise<{ input: JsonSchema | null; output: JsonSchema | null }>;
  start(name: string, input: unknown, trigger: RunTrigger): Promise<StartReceipt>;
}

export function createWorkflows(options: { catalog: Catalog; engine: Engine; isArmed(): boolean }): Workflows {
  const { catalog, engine } = options;
  const find = (name: string): LoadedWorkflow => {
    const workflow = catalog.findWorkflow(name);
    if (!workflow) throw workflowNotFound(name, catalog);
    return workflow;
  };
  return {
    list: () => catalog.workflows().map(toSummary),
    get: (name) => toSummary(find(name)),
    async schema(name) {
      const { inputSchema, outputSchema } = definitionOf(find(name));
      return {
        input: inputSchema ? await toJsonSchema(inputSchema, 'input') : null,
        output: outputSchema ? await toJsonSchema(outputSchema, 'output') : null,
      };
    },
    async start(name, input, trigger) {
      if (!options.isArmed()) throw notArmed();
      const workflow = definitionOf(find(name));
      const value = await checkInput(name, workflow, input);
      const run = await engine.start({ kind: 'workflow', name, trigger, input: value, body: toBody(workflow) });
      return {
        workflowName: name,
        status: 'started',
        runId: run.runId,
        worldRunId: run.traceId,
        trigger: startRoute(name),
      };
    },
  };
}

/** What the engine runs: arguments as the author declared them. */
export function toBody(workflow: WorkflowDefinition): Body {
  const spread = !workflow.inputSchema;
  return {
    codeHash: workflow.codeHash,
    durability: workflow.durability,
    run: async (input) => (spread && isArgs(input) ? workflow.run(...input.args) : workflow.run(input)),
  };
}

/** The code of a run that continues. Throws why it cannot be had. */
export function workflowBody(catalog: Catalog, name: string): Body {
  const workflow = catalog.findWorkflow(name);
  if (!workflow) throw workflowNotFound(name, catalog);
  return toBody(definitionOf(workflow));
}

// --- internal ---

function toSummary({ entry, problem }: LoadedWorkflow): WorkflowSummary {
  return {
    name: entry.name,
    trigger: startRoute(entry.name),
    hasSchema: entry.hasInputSchema || entry.hasOutputSchema,
    mode: 'task',
    steps: entry.steps.map(({ id, name }) => ({ id, name })),
    state: problem ? 'failed' : 'ready',
    problem: problem ?? null,
  };
}

function startRoute(name: string): string {
  return `POST /api/workflows/${name}/start`;
}

async function checkInput(name: string, workflow: WorkflowDefinition, input: unknown): Promise<unknown> {
  if (!workflow.inputSchema) return input;
  const parsed = await parseWith(workflow.inputSchema, input);
  if (parsed.ok) return parsed.value;
  throw new BoxError('workflow_input_invalid', `The input does not match the schema of workflow "${name}".`, {
    details: { issues: parsed.issues },
  });
}

function definitionOf({ entry, definition, problem }: LoadedWorkflow): WorkflowDefinition {
  if (definition) return definition;
  const place = problem ? `${problem.file}:${problem.line}: ${problem.message}` : 'It did not load.';
  throw new BoxError('workflow_compile_failed', `Workflow "${entry.name}" does not compile. ${place}`, {
    details: { problem },
  });
}

function workflowNotFound(name: string, catalog: Catalog): BoxError {
  const names = catalog.workflows().map(({ entry }) => entry.name);
  const real =
    names.length > 0 ? `This box has ${names.map((known) => `"${known}"`).join(', ')}.` : 'This box has none.';
  return new BoxError('workflow_not_found', `There is no workflow "${name}". ${real}`, {
    details: { workflows: names },
  });
}

function notArmed(): BoxError {
  return new BoxError(
    'workflow_runtime_not_armed',
    'Workflows are held back until a model provider is set. Set MODEL_PROVIDER_BASE_URL, or send PUT /api/model-provider.',
  );
}

function isArgs(input: unknown): input is { args: unknown[] } {
  if (typeof input !== 'object' || input === null) return false;
  return Array.isArray((input as { args?: unknown }).args) && Object.keys(input).length === 1;
}
