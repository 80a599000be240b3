import { createHash } from 'node:crypto';
import type { DeepAgentDefinition } from '../definitions/agent.ts';
import { defineDeepAgent, isDeepAgent } from '../definitions/definition.ts';
import { listUnknown, toSubagents } from '../definitions/subagents.ts';
import { snapshotRegistry } from '../engine/values/current-registry.ts';
import type { CodeRegistry } from '../engine/values/registry.ts';
import type { AgentEntry, CompiledModule, LoadedModule, Problem, Program, WorkflowEntry } from '../manifest.ts';
import { COPILOT_AGENT, problemOf } from '../manifest.ts';
import { isSchema } from '../schema/schema.ts';
import type { AnySchema } from '../schema/schema.ts';
import { toCleanup, toRunTimeout } from '../definitions/life-settings.ts';
import { toFlowPolicy } from '../definitions/flow-settings.ts';
import type { FlowPolicy } from '../definitions/flow-settings.ts';
import { toStartsOn } from '../definitions/event-settings.ts';
import type { StartsOn } from '../definitions/event-settings.ts';
import { toSchedules, toSerialPolicy } from '../definitions/workflow-settings.ts';
import type { ScheduleDeclaration, SerialPolicy } from '../definitions/workflow-settings.ts';

/** An agent or workflow that loaded, or why it did not. After a bad edit both: the last good one and the problem. */
export interface Loaded<Entry, Definition> {
  entry: Entry;
  definition?: Definition;
  problem?: Problem;
  /** What the scan found of the last good one, where the definition is of that. */
  served?: Entry;
}

export interface WorkflowDefinition {
  run: (...args: unknown[]) => unknown;
  inputSchema?: AnySchema;
  outputSchema?: AnySchema;
  stateSchema?: AnySchema;
  durability: 'synced' | 'process';
  mode: 'task' | 'chat';
  /** One run at a time holds the lock that `key` names for an input. */
  serial?: SerialPolicy;
  /** What limits how its runs begin. */
  flow: FlowPolicy;
  /** What its runs have to clean up when they are cancelled. */
  cleanupMs: number;
  /** What its runs may take. Default: as long as they do. */
  timeoutMs?: number;
  schedules: ScheduleDeclaration[];
  /** The event that starts it. */
  on?: StartsOn;
  codeHash: string;
  /** What its code has made known by name, where other code may have the names. */
  registry?: CodeRegistry;
  /** Of the module, to be kept. Absent: it cannot be. */
  compiled?: LoadedModule['compiled'];
}

export interface AgentDefinition {
  agent: DeepAgentDefinition;
  /** Those it declares itself, by name. */
  subagents: Map<string, DeepAgentDefinition>;
  codeHash: string;
  /** As of a workflow. */
  registry?: CodeRegistry;
  compiled?: LoadedModule['compiled'];
}

/** The code of an agent or a workflow, as runs begin with it. */
export type CodeVersion = { codeHash: string; compiled(): Promise<CompiledModule> } & CodeEntry;

export type CodeEntry = { kind: 'agent'; entry: AgentEntry } | { kind: 'workflow'; entry: WorkflowEntry };

export type LoadedAgent = Loaded<AgentEntry, AgentDefinition>;
export type LoadedWorkflow = Loaded<WorkflowEntry, WorkflowDefinition>;

/** An agent the box brings itself, which one of the workspace may replace. */
export interface ReservedAgent {
  /** Served while the workspace declares none of its name. */
  builtIn: LoadedAgent;
  /** One of the workspace, with what it has in addition. Throws where it cannot have that. */
  extend(declared: DeepAgentDefinition): DeepAgentDefinition;
}

/** The agents and workflows the box serves. */
export interface Catalog {
  /** Loads what the program names and swaps it in at once. A module that fails keeps its last good version. */
  load(program: Program): Promise<void>;
  /** Without the reserved copilot. */
  agents(): LoadedAgent[];
  workflows(): LoadedWorkflow[];
  findAgent(name: string): LoadedAgent | undefined;
  findWorkflow(name: string): LoadedWorkflow | undefined;
  /** Whether the workspace declares a reserved agent itself. */
  isReplaced(name: string): boolean;
  /** Of all code that can run here, the copilot's too. */
  codeHashes(): string[];
  /** Of what is served, what can be kept. */
  versions(): CodeVersion[];
  /** What another version of a module defines; it is not served. Throws why it cannot be. */
  defineAgent(entry: AgentEntry, module: LoadedModule): AgentDefinition;
  /** The same of a workflow. */
  defineWorkflow(entry: WorkflowEntry, module: LoadedModule): WorkflowDefinition;
  /** What does not load now. */
  problems(): Problem[];
}

/** @param reserved undefined: nothing is known of it, and an agent of its name is like any other */
export function createCatalog(reserved?: ReservedAgent): Catalog {
  let agents = new Map<string, LoadedAgent>();
  let workflows = new Map<string, LoadedWorkflow>();
  const builtIn = reserved?.builtIn;
  const toOwnAgent = (entry: AgentEntry, module: LoadedModule): AgentDefinition => {
    const definition = toAgent(entry, module);
    if (!reserved || entry.name !== reserved.builtIn.entry.name) return definition;
    return { ...definition, agent: reserved.extend(definition.agent) };
  };
  const findAgent = (name: string) => agents.get(name) ?? (name === builtIn?.entry.name ? builtIn : undefined);
  return {
    async load(program) {
      const { manifest } = program;
      const [nextAgents, nextWorkflows] = await Promise.all([
        Promise.all(manifest.agents.map((entry) => load(entry, program, agents.get(entry.name), toOwnAgent))),
        Promise.all(manifest.workflows.map((entry) => load(entry, program, workflows.get(entry.name), toWorkflow))),
      ]);
      agents = new Map(checkSubagents(nextAgents, agents).map((agent) => [agent.entry.name, agent]));
      workflows = new Map(nextWorkflows.map((workflow) => [workflow.entry.name, workflow]));
    },
    agents: () => [...agents.values()].filter(({ entry }) => entry.name !== COPILOT_AGENT),
    workflows: () => [...workflows.values()],
    findAgent,
    findWorkflow: (name) => workflows.get(name),
    isReplaced: (name) => agents.has(name),
    codeHashes: () => [
      ...new Set(
        [...agents.values(), ...workflows.values(), ...(builtIn ? [builtIn] : [])].flatMap(
          ({ definition }) => definition?.codeHash ?? [],
        ),
      ),
    ],
    versions: () => [
      ...[...agents.values()].flatMap((one) => toVersions('agent', one)),
      ...[...workflows.values()].flatMap((one) => toVersions('workflow', one)),
    ],
    defineAgent: toOwnAgent,
    defineWorkflow: toWorkflow,
    problems: () => [...agents.values(), ...workflows.values()].flatMap(({ problem }) => problem ?? []),
  };
}

// --- internal ---

function toVersions<Kind extends CodeEntry['kind']>(
  kind: Kind,
  { entry, definition, served = entry }: Loaded<AgentEntry | WorkflowEntry, AgentDefinition | WorkflowDefinition>,
): CodeVersion[] {
  if (!definition?.compiled) return [];
  const { codeHash, compiled } = definition;
  return [{ kind, entry: served, codeHash, compiled } as CodeVersion];
}

async function load<Entry extends AgentEntry | WorkflowEntry, Definition extends { registry?: CodeRegistry }>(
  entry: Entry,
  program: Program,
  last: Loaded<Entry, Definition> | undefined,
  toDefinition: (entry: Entry, module: LoadedModule) => Definition,
): Promise<Loaded<Entry, Definition>> {
  const lastGood = last?.definition && { definition: last.definition, served: last.served ?? last.entry };
  if (entry.problem) return { entry, ...lastGood, problem: entry.problem };
  try {
    const definition = toDefinition(entry, await program.load(entry.file));
    return { entry, definition: program.isEdited ? { ...definition, registry: snapshotRegistry() } : definition };
  } catch (error) {
    return { entry, ...lastGood, problem: problemOf(error, entry.file) };
  }
}

function toAgent(entry: AgentEntry, module: LoadedModule): AgentDefinition {
  const agent = module.exports.default;
  if (!isDeepAgent(agent))
    throw new Error(
      `The default export of "${entry.file}" is not an agent. Write: export default defineDeepAgent({ ... }).`,
    );
  if (agent.name !== entry.name)
    throw new Error(
      `The agent in "${entry.file}" is named "${agent.name}"; its folder is "${entry.name}". Make them equal.`,
    );
  const whole = withTexts(agent, entry);
  return {
    agent: whole,
    subagents: toSubagents(whole),
    codeHash: withTextsHash(module.hash, entry),
    ...(module.compiled && { compiled: module.compiled }),
  };
}

/** The texts beside its code are code of the agent, too. */
function withTextsHash(hash: string, { instructions, skills = [] }: AgentEntry): string {
  if (instructions === undefined && skills.length === 0) return hash;
  return createHash('sha256')
    .update(JSON.stringify([hash, instructions, skills]))
    .digest('hex');
}

/** The agent with the Markdown files beside its code. */
function withTexts(agent: DeepAgentDefinition, { instructions, skills = [] }: AgentEntry): DeepAgentDefinition {
  if (instructions === undefined && skills.length === 0) return agent;
  return defineDeepAgent({
    ...agent,
    ...(instructions === undefined ? {} : { instructions: joinInstructions(instructions, agent.instructions) }),
    skills: [...(agent.skills ?? []), ...skills],
  });
}

function joinInstructions(
  file: string,
  code: DeepAgentDefinition['instructions'],
): NonNullable<DeepAgentDefinition['instructions']> {
  if (typeof code !== 'function') return [file, code].filter(Boolean).join('\n\n');
  return async (turn) => [file, await code(turn)].filter(Boolean).join('\n\n');
}

function toWorkflow(entry: WorkflowEntry, module: LoadedModule): WorkflowDefinition {
  const { run, owner } = findFunction(entry, module);
  if (typeof run !== 'function') throw new Error(`"${entry.file}" exports no workflow function.`);
  const settings = readSettings(run, module);
  const { inputSchema, outputSchema, stateSchema, durability, mode, serial, schedules, on, cleanup, timeout } =
    settings;
  const timeoutMs = toRunTimeout(entry, timeout);
  for (const [name, schema] of Object.entries({ inputSchema, outputSchema, stateSchema }))
    if (schema !== undefined && !isSchema(schema))
      throw new Error(`"${name}" of "${entry.file}" is not a zod schema. Export a zod schema, or remove it.`);
  return {
    run: (...args) => Reflect.apply(run, owner, args) as unknown,
    ...(inputSchema === undefined ? {} : { inputSchema: inputSchema as AnySchema }),
    ...(outputSchema === undefined ? {} : { outputSchema: outputSchema as AnySchema }),
    ...(stateSchema === undefined ? {} : { stateSchema: stateSchema as AnySchema }),
    durability: durability === 'process' ? 'process' : 'synced',
    mode: mode === 'chat' ? 'chat' : 'task',
    ...(serial === undefined ? {} : { serial: toSerialPolicy(entry, serial) }),
    flow: toFlowPolicy(entry, module.exports),
    cleanupMs: toCleanup(entry, cleanup),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    schedules: toSchedules(entry, schedules),
    ...(on === undefined ? {} : { on: toStartsOn(entry, on, mode) }),
    codeHash: module.hash,
    ...(module.compiled && { compiled: module.compiled }),
  };
}

/** A static method is found in its class, which is its `this`. */
function findFunction({ exportName }: WorkflowEntry, { exports }: LoadedModule): { run: unknown; owner: unknown } {
  const [name = '', method] = exportName?.split('.') ?? [];
  if (method === undefined) return { run: exports[name], owner: undefined };
  const owner = exports[name] as Record<string, unknown> | undefined;
  return { run: owner?.[method], owner };
}

/** What is set on the function itself; what the module exports is for the only workflow of a file. */
function readSettings(run: object, { exports }: LoadedModule): Record<string, unknown> {
  return { ...exports, ...run };
}

/** An agent that names one which is not there does not load. */
function checkSubagents(loaded: LoadedAgent[], last: Map<string, LoadedAgent>): LoadedAgent[] {
  const names = loaded.map(({ entry }) => entry.name);
  return loaded.map((one) => {
    const [unknown] = one.definition ? listUnknown(one.definition.agent, names) : [];
    if (unknown === undefined) return one;
    const { entry } = one;
    const known = names.map((name) => `"${name}"`).join(', ');
    const message = `"subagents" names "${unknown}", which is no agent of this workspace. It has ${known}.`;
    const lastGood = last.get(entry.name)?.definition;
    const problem = { code: 'module_load_failed', message, file: entry.file, line: 1, column: 1, frame: '' };
    return { entry, ...(lastGood ? { definition: lastGood } : {}), problem };
  });
}
