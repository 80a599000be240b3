import type { AgentEntry, DeclaredEntry, Manifest, Problem, StepEntry, WorkflowEntry } from '@svc/runtime/host';
import { parseSkill } from './agent-texts.ts';
import type { Scan, ScannedAgent, ScannedEntry, ScannedFile, ScannedWorkflow } from './scan.ts';

/**
 * The bridge to the runtime. An entry carries its own first problem, else the first one of a module it imports:
 * a step that does not work there would not work here.
 */
export function createManifest(scan: Scan, problems: readonly Problem[] = []): Manifest {
  const firstOf = new Map<string, Problem>();
  for (const problem of problems) if (!firstOf.has(problem.file)) firstOf.set(problem.file, problem);
  const { configSchema, databaseSchema } = scan;
  return {
    version: 1,
    agents: scan.agents.map((entry) => toAgent(entry, firstOf)),
    // Of those that share a name the first one is served; the others are problems.
    workflows: scan.workflows
      .filter(({ name }, i) => scan.workflows[i - 1]?.name !== name)
      .map((entry) => toWorkflow(entry, scan, firstOf)),
    ...(configSchema ? { configSchema: { file: configSchema.file, ...problemOf(configSchema, firstOf) } } : {}),
    ...(databaseSchema === undefined ? {} : { databaseSchema: { file: databaseSchema } }),
    ...(scan.guardrails.length > 0 ? { guardrails: toDeclared(scan.guardrails, firstOf) } : {}),
    ...(scan.connections.length > 0 ? { connections: toDeclared(scan.connections, firstOf) } : {}),
    ...(scan.scorers.length > 0 ? { scorers: toDeclared(scan.scorers, firstOf) } : {}),
  };
}

export function stepId(file: string, name: string): string {
  return `${file}#${name}`;
}

// --- internal ---

function toAgent({ name, file, modules, texts }: ScannedAgent, firstOf: Map<string, Problem>): AgentEntry {
  const { instructions } = texts;
  const skills = texts.skills.map(parseSkill).flatMap(({ skill }) => skill ?? []);
  return {
    name,
    file,
    ...(instructions === undefined ? {} : { instructions }),
    ...(skills.length > 0 ? { skills } : {}),
    ...problemOf({ file, modules: [...modules, ...texts.skills.map((text) => text.file)] }, firstOf),
  };
}

/** Of two with one name the first is loaded; that there is another is a problem of both. */
function toDeclared(entries: readonly ScannedEntry[], firstOf: Map<string, Problem>): DeclaredEntry[] {
  return entries
    .filter(({ name }, i) => entries[i - 1]?.name !== name)
    .map(({ name, file, modules }) => ({ name, file, ...problemOf({ file, modules }, firstOf) }));
}

function toWorkflow(entry: ScannedWorkflow, scan: Scan, firstOf: Map<string, Problem>): WorkflowEntry {
  const { name, file, exportName, settings, schedulePlaces, hasInputSchema, hasOutputSchema, hasStateSchema } = entry;
  const steps = [file, ...entry.modules].flatMap((module) => listSteps(module, scan));
  const schemas = { hasInputSchema, hasOutputSchema, ...(hasStateSchema && { hasStateSchema }) };
  const facts = {
    exportName,
    steps,
    ...(settings && { settings }),
    ...(schedulePlaces && { schedulePlaces }),
    ...schemas,
  };
  return { name, file, ...facts, ...problemOf(entry, firstOf) };
}

function listSteps(file: string, scan: Scan): StepEntry[] {
  const steps = scan.files[file]?.steps ?? [];
  return steps.map(({ name, line }) => ({ id: stepId(file, name), name, line }));
}

function problemOf({ file, modules }: ScannedFile, firstOf: Map<string, Problem>): { problem?: Problem } {
  const owner = [file, ...modules].find((module) => firstOf.has(module));
  const problem = owner === undefined ? undefined : firstOf.get(owner);
  return problem ? { problem } : {};
}
