import { loadDeclared, NONE } from '../config-values/declared.ts';
import { readConnections } from '../connections/declared.ts';
import { createCopilot } from '../copilot/agent.ts';
import { createCodeScorers } from '../evals/code-scorers.ts';
import { createCodeRules } from '../guardrails/code-rules.ts';
import { createLog } from '../log.ts';
import { problemOf } from '../manifest.ts';
import type { DeclaredEntry, Problem, Program } from '../manifest.ts';
import { toWorkspaceConfig } from '../workspace-config.ts';
import { createCatalog } from '../catalog/catalog.ts';

/**
 * Loads everything a box loads at its start and answers what it would not serve, by the file of the entry: why it does
 * not load, or why its exports are not usable. `config` is the file of its settings. Entries whose problem is known are
 * left alone.
 */
export async function findLoadProblems(program: Program, config?: string): Promise<Map<string, Problem>> {
  const problems = new Map<string, Problem>();
  const add = (file: string, problem: Problem | undefined) => problem && problems.set(file, problem);
  // First, as at a start: the others may rest on what it sets.
  if (config !== undefined) add(config, await findConfigProblem(config, program));
  const catalog = createCatalog(createCopilot(NOT_CALLED));
  await catalog.load(program);
  const { agents, workflows, configSchema, guardrails = [], connections = [], scorers = [] } = program.manifest;
  for (const { name, file, problem } of agents) if (!problem) add(file, catalog.findAgent(name)?.problem);
  for (const { name, file, problem } of workflows) if (!problem) add(file, catalog.findWorkflow(name)?.problem);
  if (configSchema && !configSchema.problem) add(configSchema.file, (await loadDeclared(program, NONE)).problem);
  const isSound = ({ problem }: DeclaredEntry): boolean => !problem;
  const sound: Program = {
    ...program,
    manifest: {
      ...program.manifest,
      guardrails: guardrails.filter(isSound),
      connections: connections.filter(isSound),
      scorers: scorers.filter(isSound),
    },
  };
  for (const [file, problem] of (await readConnections(sound)).problems) add(file, problem);
  for (const declared of [createCodeRules(), createCodeScorers()]) {
    await declared.load(sound);
    for (const problem of declared.problems()) add(problem.file, problem);
  }
  return problems;
}

// --- internal ---

async function findConfigProblem(file: string, { load }: Program): Promise<Problem | undefined> {
  try {
    toWorkspaceConfig((await load(file)).exports);
    return undefined;
  } catch (error) {
    return problemOf(error, file);
  }
}

const noBox = (): never => {
  throw new Error('Code that runs while a workspace is only checked cannot call the box.');
};

/** What a box would serve is made and checked, and nothing of it runs. */
const NOT_CALLED = {
  rooms: noBox,
  confirmations: { ask: noBox, redeem: noBox, read: noBox },
  sealed: { ask: noBox, redeem: noBox, read: noBox },
  used: { use: noBox, read: noBox },
  journal: { getRun: noBox },
  log: createLog({ level: 'silent', write: () => {} }),
};
