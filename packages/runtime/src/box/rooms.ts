import type { RunRow } from '../engine/journal/run.ts';
import { ROOMS } from '../surface/rooms.ts';
import type { Rooms } from '../surface/rooms.ts';
import { LIVE_RUN, SUITE_CODE } from '../evals/suite-body.ts';
import { EVENT_CODE } from '../workflows/events.ts';
import { bodyOfRun, cleanupOf, workflowBody } from '../workflows/body.ts';
import { createLimitedFinder } from './access.ts';
import { assemble } from './assemble.ts';
import type { Part } from './assemble.ts';
import type { Above, Foundation } from './foundation.ts';
import { createGround } from './ground.ts';
import { PARTS } from './parts.ts';
import type { Given, Parts } from './parts.ts';

/** The rooms that operations are handed, and what routes and hosts need besides. */
export interface Built extends Pick<
  Parts,
  'agents' | 'auth' | 'watch' | 'sessionStore' | 'program' | 'confirmations' | 'turnFiles'
> {
  rooms: Rooms;
}

/** Builds every room of `surface/rooms.ts`, and the parts they are made of. */
export function createRooms(foundation: Foundation): Built {
  // Here it is checked that all that a room asks for is there.
  const rooms: readonly Part<Given>[] = ROOMS;
  const ground = createGround(foundation, () => given);
  const given: Given = assemble(ground, [...PARTS, ...rooms], foundation.closer);
  const all = toRooms(given);
  foundation.above.set(toAbove(given, all));
  const { agents, auth, watch, sessionStore, program, confirmations, turnFiles } = given;
  return { rooms: all, agents, auth, watch, sessionStore, program, confirmations, turnFiles };
}

// --- internal ---

function toRooms(given: Given): Rooms {
  return Object.fromEntries(ROOMS.map(({ name }) => [name, given[name]])) as unknown as Rooms;
}

/** What the engine calls. */
function toAbove(given: Given, rooms: Rooms): Above {
  const {
    agents,
    ai,
    browser,
    catalog,
    engine,
    evals,
    jobs,
    namedEvents,
    notify,
    options,
    program,
    rag,
    retention,
    signals,
    tables,
    versions,
  } = given;
  return {
    findLimited: createLimitedFinder(given),
    rooms,
    agents,
    engine,
    ai,
    database: () => tables.database(),
    async body(run) {
      if (run.kind === 'agent') return agents.body(run as RunRow);
      return evals.bodyOf(run.name) ?? namedEvents.bodyOf(run.name) ?? bodyOfRun(catalog, versions, run);
    },
    async newestBody(run) {
      if (run.kind === 'agent') return agents.newestBody(run as RunRow);
      return evals.bodyOf(run.name) ?? namedEvents.bodyOf(run.name) ?? workflowBody(catalog, run.name);
    },
    codes: () => [...catalog.codeHashes(), SUITE_CODE, LIVE_RUN, EVENT_CODE],
    ended(run) {
      evals.ended(run);
      if (run.kind === 'agent') void browser.agents.close(run.runId, 'the turn is over');
    },
    cleanupOf: (run) => cleanupOf(catalog, run),
    sweep({ isScheduled }) {
      retention.sweep();
      versions.sweep();
      program.sweep(engine.replicas.elsewhere.length > 0);
      // A process of its own for some runs leaves that to the one that began it.
      if (!options.supervisor) {
        notify.sweep();
        given.turnFiles.sweep();
        signals.sweep();
        rooms.triggers.sweep();
        rag.sweep();
        rooms.memory.sweep();
      }
      return jobs.fireDue(isScheduled);
    },
  };
}
