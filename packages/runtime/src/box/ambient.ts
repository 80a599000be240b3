import type { Agents } from '../agents/agents.ts';
import type { Ai } from '../ai/ai.ts';
import type { Engine } from '../engine/engine.ts';
import type { Ambient, ConnectionRequest } from '../engine/handle.ts';
import { contextOf } from '../engine/started-by.ts';
import type { ConnectionCaller } from '../connections/connections.ts';
import type { Journal } from '../engine/journal.ts';
import { childFailed } from '../engine/run/outcome.ts';
import { decode } from '../engine/serialize.ts';
import type { ServicesInfo } from '../health/health.ts';
import { toWebhookUrl } from '../hooks/routes.ts';
import type { Mask } from '../mask.ts';
import { readPrompt } from '../prompts/read.ts';
import type { Storage } from '../storage/storage.ts';
import type { Drizzle } from '../stores/drizzle.ts';
import type { Rooms } from '../surface/rooms.ts';
import { createBoxClient } from './box-client.ts';

/** The rooms that code reaches. They stand on the engine, which is made before them. */
export interface AmbientRooms {
  rooms: Pick<
    Rooms,
    | 'browser'
    | 'config'
    | 'connections'
    | 'hooks'
    | 'jobs'
    | 'logs'
    | 'namedEvents'
    | 'prompts'
    | 'rag'
    | 'secrets'
    | 'signals'
    | 'workflows'
  >;
  agents: Pick<Agents, 'startChild' | 'retryTurn'>;
  engine: Engine;
  database(): Drizzle;
  ai: Ai;
}

export interface AmbientOptions {
  journal: Journal;
  services(): ServicesInfo;
  storage: Storage | undefined;
  mask: Mask;
  above(): AmbientRooms;
}

const WAIT_MS = 60_000;

/** What workflows, steps and tools reach of this box. */
export function createAmbient({ journal, services, storage, mask, above }: AmbientOptions): Ambient {
  return {
    startWorkflow: (name, input, how) => above().rooms.workflows.start(name, input, { trigger: 'workflow', ...how }),
    async waitForRun(started) {
      if (started.status === 'queued')
        throw new Error('The start is queued; wait for it in a workflow body, which can be suspended.');
      for (;;) {
        const run = await above().engine.wait(started.runId, WAIT_MS);
        if (!run || run.status === 'failed' || run.status === 'cancelled') throw decode(childFailed(run)) as Error;
        if (run.status === 'completed')
          return run.output === null ? undefined : decode(await above().engine.whole(run.output));
      }
    },
    startTurn: (message, how) => above().agents.startChild(message, how),
    schedule: (request) => above().rooms.jobs.schedule(request),
    unschedule: (id) => above().rooms.jobs.unschedule(id),
    sendEvent: (event) => above().rooms.namedEvents.sendFromCode(event),
    webhookUrl: (token) => toWebhookUrl(services().agent.url, token),
    startUrl: (name) => `${services().agent.url}/api/workflows/${name}/start`,
    readPrompt: (execution, request) => readPrompt(above().rooms.prompts, execution, request),
    readConfig: (key) => above().rooms.config.read(key),
    chat: (asked, caller, rule) => above().ai.chat(asked, caller, rule),
    embed: (asked, caller) => above().ai.embed(asked, caller),
    rag: (caller) =>
      above().rooms.rag.forCode({
        name: `${caller.run.kind} ${caller.run.name}`,
        signal: caller.signal,
        embed: (asked) => above().ai.embed(asked, caller),
        rerank: (asked) => above().ai.rerank(asked, caller),
      }),
    client: createBoxClient({
      journal,
      engine: () => above().engine,
      hooks: () => above().rooms.hooks,
      signals: () => above().rooms.signals,
    }),
    redact: mask.textFor,
    async readSecret(name) {
      const value = await above().rooms.secrets.read(name);
      // From here on it is not logged, whatever the code does with it.
      mask.add(value);
      return value;
    },
    connection(request) {
      const caller = toCaller(request);
      return {
        fetch: (input, init) => above().rooms.connections.fetch(request.id, caller, input, init),
        signInUrl: () => above().rooms.connections.signInUrl(request.id, caller),
      };
    },
    get database() {
      return above().database();
    },
    storage,
    get browser() {
      return above().rooms.browser;
    },
    log: (line) => above().rooms.logs.write(line),
  };
}

// --- internal ---

function toCaller({ run, signal }: ConnectionRequest): ConnectionCaller {
  const { caller, user } = contextOf(run);
  const { kind, name } = run;
  return { kind, name, user: user && { client: caller.client, id: user.id }, signal };
}
