import type { DeepAgentDefinition } from '../definitions/agent.ts';
import type { DynamicConfig } from '../config-values/define.ts';
import type { GuardrailDefinition } from '../guardrails/define.ts';
import type { AgentEntry, DeclaredEntry, Program, WorkflowEntry } from '../manifest.ts';
import { misplacedFileOf, workflowNameOf } from '../workflows/mark.ts';

/** A workflow's module, as `import * as refund from '../workflows/refund.workflow.ts'` gives it. */
export type WorkflowModule = Readonly<Record<string, unknown>>;

export interface TestProgram {
  /** By name: what `export default defineDeepAgent({ ... })` gives. */
  agents: Readonly<Record<string, DeepAgentDefinition>>;
  /** By name: the modules. */
  workflows: Readonly<Record<string, WorkflowModule>>;
  /** By name: what `export default defineGuardrail({ ... })` gives. */
  guardrails?: Readonly<Record<string, GuardrailDefinition>> | undefined;
  /** What `config.schema.ts` has as its default export. */
  config?: DynamicConfig | undefined;
  /** What `src/schema.ts` exports. */
  schema?: Readonly<Record<string, unknown>> | undefined;
}

/** A workspace of what a test has imported. `hash`: of all its code. */
export function toProgram({ agents, workflows, guardrails, config, schema }: TestProgram, hash: string): Program {
  const modules = new Map<string, Record<string, unknown>>();
  const agentEntries = Object.entries(agents).map(([name, agent]): AgentEntry => {
    const file = `deep-agents/${name}/index.ts`;
    modules.set(file, { default: agent });
    return { name, file };
  });
  const workflowEntries = Object.entries(workflows).map(([name, module]): WorkflowEntry => {
    const file = `workflows/${name}.workflow.ts`;
    modules.set(file, module);
    return {
      name,
      file,
      exportName: findWorkflow(name, module),
      steps: [],
      hasInputSchema: module.inputSchema !== undefined,
      hasOutputSchema: module.outputSchema !== undefined,
      hasStateSchema: module.stateSchema !== undefined,
    };
  });
  const rules = Object.entries(guardrails ?? {}).map(([name, guardrail]): DeclaredEntry => {
    const file = `guardrails/${name}.guardrail.ts`;
    modules.set(file, { default: guardrail });
    return { name, file };
  });
  const configSchema = { file: 'config.schema.ts' };
  modules.set(configSchema.file, { default: config });
  const databaseSchema = { file: 'src/schema.ts' };
  modules.set(databaseSchema.file, { ...schema });
  const declared = { ...(config ? { configSchema } : {}), ...(schema ? { databaseSchema } : {}) };
  return {
    manifest: { version: 1, agents: agentEntries, workflows: workflowEntries, guardrails: rules, ...declared },
    load: async (file) => ({ exports: modules.get(file) ?? {}, hash }),
  };
}

// --- internal ---

/** What the module exports the workflow as. */
function findWorkflow(name: string, module: WorkflowModule): string {
  const found = listWorkflows(module);
  const match = found.find((one) => one.name === name);
  if (match) return match.exportName;
  const misplaced = Object.values(module).map(misplacedFileOf).find(Boolean);
  if (found.length === 0 && misplaced !== undefined)
    throw new Error(
      `The workflow given as "${name}" lies in "${misplaced}", where no box finds it. Move it to workflows/${name}.workflow.ts.`,
    );
  if (found.length === 0)
    throw new Error(
      `The module given as workflow "${name}" exports no compiled workflow. Put svcTesting() of "@svc/compiler" among the ` +
        'plugins of vitest.config.ts, and hand over the whole module: import * as it.',
    );
  const names = found.map((one) => `"${one.name}"`).join(', ');
  const [what, advice] =
    found.length === 1 ? ['is the workflow', 'that name'] : ['holds the workflows', 'one of these names'];
  throw new Error(`The module given as workflow "${name}" ${what} ${names}: its file says so. Use ${advice}.`);
}

/** Functions, and static methods of classes. */
function listWorkflows(module: WorkflowModule): { name: string; exportName: string }[] {
  return Object.entries(module).flatMap(([key, value]) => {
    const own = workflowNameOf(value);
    if (own !== undefined) return [{ name: own, exportName: key }];
    if (typeof value !== 'function') return [];
    return Object.getOwnPropertyNames(value).flatMap((method) => {
      const name = workflowNameOf(Object.getOwnPropertyDescriptor(value, method)?.value);
      return name === undefined ? [] : [{ name, exportName: `${key}.${method}` }];
    });
  });
}
