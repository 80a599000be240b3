import type { Catalog } from '../catalog/catalog.ts';
import type { ProjectTables } from '../catalog/project-tables.ts';
import type { Connections } from '../connections/connections.ts';
import type { ConfigValues } from '../config-values/config-values.ts';
import type { CodeScorers } from '../evals/code-scorers.ts';
import type { Engine } from '../engine/engine.ts';
import type { DeclaredSchedules, Jobs } from '../jobs/jobs.ts';
import type { AgentRules } from '../guardrails/code-rules.ts';
import type { Guardrails } from '../guardrails/guardrails.ts';
import type { Versions } from '../versions/versions.ts';
import { COPILOT_AGENT } from '../manifest.ts';
import type { Problem, Program } from '../manifest.ts';

/** What the workspace declares, over all the rooms that hold it. */
export interface LoadedProgram {
  /** Swaps in a program. */
  load(program: Program): Promise<void>;
  /** What of it does not load. */
  problems(): Problem[];
  /** Called about once a second. `isRollingOut`: another replica has other code. Returns at once, and never throws. */
  sweep(isRollingOut: boolean): void;
}

export interface ProgramRooms {
  catalog: Catalog;
  config: ConfigValues;
  tables: ProjectTables;
  jobs: Jobs;
  guardrails: Guardrails;
  connections: Connections;
  scorers: Pick<CodeScorers, 'load' | 'problems'>;
  versions: Pick<Versions, 'loaded'>;
  replicas: Pick<Engine['replicas'], 'announce'>;
  /** This process was begun for some runs by another one of the same build. */
  isSupervised: boolean;
  /** Called once a program is in force. */
  onLoad(): void;
}

export function createProgram(rooms: ProgramRooms): LoadedProgram {
  const { catalog, config, tables, jobs, guardrails, connections, scorers, versions, replicas, isSupervised, onLoad } =
    rooms;
  let hasDeclared = false;
  let wasRollingOut = false;
  let declareAt = 0;
  return {
    // Another build may have declared its own, and one that came and went between two looks was not seen. While it is there each
    // would take back what the other has changed, and a time that is due with it.
    sweep(isRollingOut) {
      const isOver = !isRollingOut && wasRollingOut;
      const isDue = isOver || (!isRollingOut && Date.now() >= declareAt);
      wasRollingOut = isRollingOut;
      if (!hasDeclared || !isDue) return;
      declareAt = Date.now() + DECLARE_EVERY_MS;
      jobs.reconcile(declaredSchedules(catalog), { again: !isOver }).catch(() => (declareAt = 0));
    },
    async load(program) {
      // At once: an agent is never served without the rules beside it.
      const agents = catalog.load(program).then(() => guardrails.setAgents(listRules(catalog)));
      const others = [guardrails, config, tables, connections, scorers].map((room) => room.load(program));
      await Promise.all([agents, ...others]);
      await versions.loaded();
      // A process of its own for some runs leaves that to the one that began it.
      if (!isSupervised) {
        // First, so that of two builds that come up at once one at least sees the other, and removes no timer of it.
        await replicas.announce().catch(() => {}); // arming does it again
        await jobs.reconcile(declaredSchedules(catalog));
      }
      hasDeclared = !isSupervised;
      declareAt = Date.now() + DECLARE_EVERY_MS;
      onLoad();
    },
    problems: () => [catalog, config, tables, guardrails, connections, scorers].flatMap((room) => room.problems()),
  };
}

// --- internal ---

/** How often it is looked whether the timers are those of this build, which costs one statement where they are. */
const DECLARE_EVERY_MS = 2 * 60 * 1000;

function listRules(catalog: Catalog): AgentRules[] {
  const reserved = catalog.findAgent(COPILOT_AGENT);
  const agents = [...catalog.agents(), ...(reserved ? [reserved] : [])];
  return agents.flatMap(({ entry: { name, file }, definition }) => {
    const rules = definition?.agent.guardrails ?? [];
    return rules.length > 0 ? [{ name, file, guardrails: rules }] : [];
  });
}

function declaredSchedules(catalog: Catalog): DeclaredSchedules[] {
  return catalog.workflows().map(({ entry, definition }) => ({
    name: entry.name,
    schedules: definition?.schedules,
    codeHash: definition?.codeHash,
  }));
}
