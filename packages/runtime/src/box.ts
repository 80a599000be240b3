import type { H3 } from 'h3';
import type { Agents } from './agents/agents.ts';
import { splitName } from './definitions/subagents.ts';
import { installBodies } from './engine/values/bodies.ts';
import type { Engine } from './engine/engine.ts';
import { installGuard } from './engine/guard/guard.ts';
import { waitsForCode } from './engine/worker/code-waits.ts';
import { installUncaught } from './engine/uncaught.ts';
import { installUnhandled } from './engine/unhandled.ts';
import type { Gate } from './gate/gate.ts';
import type { Problem, Program } from './manifest.ts';
import { createCloser } from './box/closer.ts';
import type { Closer } from './box/closer.ts';
import { createFoundation } from './box/foundation.ts';
import type { BoxOptions } from './box/options.ts';
import { createRooms } from './box/rooms.ts';
import type { Built } from './box/rooms.ts';
import { createRoutes } from './box/routes.ts';

export interface Box {
  app: H3;
  engine: Engine;
  agents: Agents;
  gate: Gate;
  /** A request without a socket, for tests. */
  request(path: string, init?: RequestInit): Promise<Response>;
  /** Swaps in an edited program; while the gate is closed, only its dynamic configuration. */
  reload(program: Program): Promise<void>;
  problems(): Problem[];
  agentNames(): string[];
  workflowNames(): string[];
  /** Open runs that go on with other code than the newest, by workflow and agent: of the first 200. */
  oldRuns(): Promise<OldRuns[]>;
  /** Those of these secrets of the workspace that are not set. */
  missingSecrets(names: readonly string[]): Promise<string[]>;
  /**
   * Refuses starts, ends streams and held answers, and gives runs back to other replicas, after steps under way had 8 s
   * to end. Reads are still answered, so this comes before the listener is closed.
   */
  close(): Promise<void>;
}

export interface OldRuns {
  name: string;
  /** Those that go on, or wait for what their code waits for. */
  runs: number;
  /** Those that wait for the code itself. */
  waiting: number;
  /** The hash of the newest code; null: there is none. */
  codeHash: string | null;
}

/** Builds every room, mounts every route. Start reading here. */
export async function createBox(options: BoxOptions): Promise<Box> {
  installGuard();
  installUnhandled();
  installUncaught();
  installBodies();
  const closer = createCloser();
  try {
    const foundation = await createFoundation(options, closer);
    const built = createRooms(foundation);
    const app = await createRoutes(foundation, built);
    return toBox(app, { engine: foundation.engine, built, closer });
  } catch (error) {
    // Why it failed is what its host has to know.
    await closer.close().catch(() => {});
    throw error;
  }
}

// --- internal ---

interface Parts {
  engine: Engine;
  built: Built;
  closer: Closer;
}

function toBox(app: H3, { engine, built, closer }: Parts): Box {
  const { agents, program, rooms } = built;
  const { catalog, config, secrets } = rooms;
  const { load, problems } = program;
  return {
    app,
    engine,
    agents,
    gate: rooms.gate,
    request: async (path, init) => app.request(path, init),
    reload: (edited) => (rooms.gate.state().open ? load(edited) : config.load(edited)),
    problems,
    agentNames: () => catalog.agents().map(({ entry }) => entry.name),
    workflowNames: () => catalog.workflows().map(({ entry }) => entry.name),
    oldRuns: () => listOldRuns(engine, catalog),
    missingSecrets: (names) => secrets.missing(names),
    close: closer.close,
  };
}

async function listOldRuns(engine: Engine, { findAgent, findWorkflow }: Built['rooms']['catalog']): Promise<OldRuns[]> {
  const old = new Map<string, OldRuns>();
  const rows = engine.armed ? await engine.listOld({ limit: 200 }) : [];
  for (const run of rows) {
    const { kind, name } = run;
    const found = kind === 'agent' ? findAgent(splitName(name).agent) : findWorkflow(name);
    const one = old.get(name) ?? { name, runs: 0, waiting: 0, codeHash: found?.definition?.codeHash ?? null };
    const member = waitsForCode(run) ? 'waiting' : 'runs';
    old.set(name, { ...one, [member]: one[member] + 1 });
  }
  return [...old.values()];
}
