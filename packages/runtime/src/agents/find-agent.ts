import type { AgentDefinition, Catalog } from '../catalog/catalog.ts';
import type { CatalogOverrides } from '../catalog/overrides.ts';
import { BoxError } from '../errors.ts';
import { agentNotFound } from './events/turn-errors.ts';
import { COPILOT_AGENT } from '../manifest.ts';
import type { DeepAgentDefinition } from '../definitions/agent.ts';
import { splitName } from '../definitions/subagents.ts';
import type { VersionedRun, Versions } from '../versions/versions.ts';

/** Agents by the name of a run: a sub-agent has its parent's name before its own. */
export interface AgentFinder {
  /** Throws when the agent cannot answer. */
  get(runName: string): AgentDefinition;
  /** The same, as the run began with it where that is kept. Throws also why what is kept does not load. */
  ofRun(run: VersionedRun): Promise<AgentDefinition>;
  /** Undefined: it is gone, or does not load. */
  find(runName: string): DeepAgentDefinition | undefined;
  /** Throws when the agent cannot answer, and where no model is selected. `codeHash`: of the code that names its own. */
  modelOf(runName: string, codeHash?: string | null): Promise<string>;
}

export interface AgentFinderOptions {
  catalog: Catalog;
  isArmed(): boolean;
  defaultModel(): Promise<string | undefined> | string | undefined;
  overrides?: Pick<CatalogOverrides, 'find'> | undefined;
  /** Undefined: no earlier version is kept. */
  versions?: Pick<Versions, 'findAgent'> | undefined;
}

export function createAgentFinder(options: AgentFinderOptions): AgentFinder {
  /** The agent of the workspace that the name is of, in the code of the run. */
  const findOwn = async (run: VersionedRun): Promise<AgentDefinition> => {
    if (!options.isArmed()) throw notArmed();
    return (await options.versions?.findAgent(run)) ?? getOwnAgent(options, splitName(run.name).agent);
  };
  return {
    get: (runName) => getAgent(options, runName),
    ofRun: async (run) => ofName(await findOwn(run), run.name),
    find(runName) {
      const { agent, subagent } = splitName(runName);
      const definition = options.catalog.findAgent(agent)?.definition;
      return subagent === undefined ? definition?.agent : definition?.subagents.get(subagent);
    },
    async modelOf(name, codeHash) {
      const own = await findOwn({ name, codeHash });
      const { model: declared } = ofName(own, name).agent;
      const chosen = namesOwnModel(own, name) ? null : await findChosenModel(options, name);
      const model = chosen ?? declared ?? (await options.defaultModel());
      if (model) return model;
      if (name === COPILOT_AGENT) throw new BoxError('model_not_selected', NO_MODEL_OF_COPILOT);
      throw new BoxError(
        'model_not_selected',
        `No model is selected for agent "${name}". Set "model" in defineDeepAgent, or a default in svc.config.ts.`,
      );
    },
  };
}

// --- internal ---

const NO_MODEL_OF_COPILOT =
  'No model is selected for the Studio copilot. Choose a default model on the Settings screen ("Model defaults"), or a model on its entry in the Catalog.';

/** Of a sub-agent: whether it has another model than its parent by its own words. */
function namesOwnModel({ agent }: AgentDefinition, runName: string): boolean {
  const { subagent } = splitName(runName);
  return (agent.subagents ?? []).some(
    (one) => typeof one !== 'string' && one.name === subagent && one.model !== undefined,
  );
}

async function findChosenModel({ overrides }: AgentFinderOptions, runName: string): Promise<string | null> {
  const { agent } = splitName(runName);
  return (await overrides?.find('agent', agent))?.model ?? null;
}

function getAgent(options: AgentFinderOptions, runName: string): AgentDefinition {
  return ofName(getOwnAgent(options, splitName(runName).agent), runName);
}

function ofName<Definition extends AgentDefinition>(found: Definition, runName: string): Definition {
  const { agent: name, subagent } = splitName(runName);
  if (subagent === undefined) return found;
  const agent = found.subagents.get(subagent);
  if (agent) return { ...found, agent };
  throw new BoxError('agent_not_found', `Agent "${name}" has no sub-agent "${subagent}" any more.`);
}

function notArmed(): BoxError {
  const message =
    'Agents are held back until a model provider is set. Set MODEL_PROVIDER_BASE_URL, or send PUT /api/model-provider.';
  return new BoxError('agent_runtime_not_armed', message);
}

function getOwnAgent({ catalog, isArmed }: AgentFinderOptions, name: string): AgentDefinition {
  if (!isArmed()) throw notArmed();
  const found = catalog.findAgent(name);
  if (!found)
    throw agentNotFound(
      name,
      catalog.agents().map(({ entry }) => entry.name),
    );
  if (found.definition) return found.definition;
  const { problem } = found;
  throw new BoxError(
    'agent_load_failed',
    `Agent "${name}" does not load. ${problem?.file}:${problem?.line}: ${problem?.message}`,
    {
      details: { problem },
    },
  );
}
