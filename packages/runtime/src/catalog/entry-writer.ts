import type { DeepAgentDefinition } from '../definitions/agent.ts';
import { COPILOT_AGENT } from '../manifest.ts';
import type { Problem } from '../manifest.ts';
import type { Prompt } from '../prompts/store.ts';
import type { BoxTool } from '../tools/box-tool.ts';
import { toBoxTools } from '../tools/box-tools.ts';
import type { LoadedAgent } from './catalog.ts';
import type { CatalogEntry } from './entry.ts';
import type { CatalogOverrides } from './overrides.ts';
import type { WorkflowSummary } from './workflow.ts';

/** Makes entries of what the box has loaded, with what an operator chose for it. */
export interface EntryWriter {
  toAgent(loaded: LoadedAgent): Promise<CatalogEntry>;
  toWorkflow(summary: WorkflowSummary): Promise<CatalogEntry>;
  toTools(loaded: LoadedAgent): Promise<{ entry: CatalogEntry; tool: BoxTool }[]>;
}

export interface EntryWriterOptions {
  overrides: CatalogOverrides;
  defaultModel(): Promise<string | undefined>;
}

/** Between the parts of the name of a tool or a prompt. */
export const SEPARATOR = ':';

export function createEntryWriter({ overrides, defaultModel }: EntryWriterOptions): EntryWriter {
  return {
    async toAgent(loaded) {
      const { entry, definition, problem } = loaded;
      const agent = definition?.agent;
      const { model: override, limits, isHidden } = await overrides.find('agent', entry.name);
      const declared = agent?.model ?? null;
      const tools = agent ? await toBoxTools(agent) : [];
      return {
        ...NOTHING,
        kind: 'agent',
        name: entry.name,
        description: agent?.description ?? null,
        health: healthOf(problem, definition),
        isSystem: entry.name === COPILOT_AGENT,
        isHidden,
        model: { declared, override, effective: override ?? declared ?? (await defaultModel()) ?? null },
        limits: { declared: agent?.limits ?? null, override: limits, effective: limits ?? agent?.limits ?? null },
        tools: tools.map(({ model }) => model.name),
        interruptOn: listInterrupting(agent),
        problem: problem ?? null,
      };
    },
    toWorkflow: async ({ name, mode, hasSchema, state, problem }) => ({
      ...NOTHING,
      kind: 'workflow',
      name,
      health: state === 'failed' ? 'failed' : problem ? 'stale' : 'ok',
      isHidden: (await overrides.find('workflow', name)).isHidden,
      mode,
      hasSchema,
      problem,
    }),
    async toTools({ entry, definition, problem }) {
      if (!definition) return [];
      const waiting = listInterrupting(definition.agent);
      return (await toBoxTools(definition.agent)).map((tool) => ({
        tool,
        entry: {
          ...NOTHING,
          kind: 'tool',
          name: `${entry.name}${SEPARATOR}${tool.model.name}`,
          description: tool.model.description,
          health: healthOf(problem, definition),
          isSystem: entry.name === COPILOT_AGENT,
          interruptOn: waiting.filter((name) => name === tool.model.name),
          problem: null,
        },
      }));
    },
  };
}

export function toPrompt({ ownerKind, ownerName, key, name }: Prompt): CatalogEntry {
  return {
    ...NOTHING,
    kind: 'prompt',
    name: [ownerKind, ownerName, key].join(SEPARATOR),
    description: name,
    health: 'ok',
    problem: null,
  };
}

// --- internal ---

const NOTHING = {
  description: null,
  isSystem: false,
  isHidden: false,
  model: null,
  limits: null,
  mode: null,
  hasSchema: null,
  tools: null,
  interruptOn: null,
};

function healthOf(problem: Problem | undefined, definition: object | undefined): CatalogEntry['health'] {
  if (!problem) return 'ok';
  return definition ? 'stale' : 'failed';
}

function listInterrupting(agent: DeepAgentDefinition | undefined): string[] {
  return Object.entries(agent?.interruptOn ?? {}).flatMap(([name, policy]) => (policy === false ? [] : name));
}
