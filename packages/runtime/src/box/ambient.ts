import type { Agents } from '../agents/agents.ts';
import type { ConfigValues } from '../config-values/config-values.ts';
import type { Ambient } from '../engine/handle.ts';
import { childFailed } from '../engine/run/outcome.ts';
import { decode } from '../engine/serialize.ts';
import type { ServicesInfo } from '../health/health.ts';
import type { Jobs } from '../jobs/jobs.ts';
import type { Logs } from '../logs/logs.ts';
import type { Prompts } from '../prompts/prompts.ts';
import { readPrompt } from '../prompts/read.ts';
import type { Storage } from '../storage/storage.ts';
import type { Drizzle } from '../stores/drizzle.ts';
import { createBoxClient } from './box-client.ts';
import type { BoxClientOptions } from './box-client.ts';
import type { Workflows } from '../workflows/workflows.ts';

/** Rooms are handed as functions: the engine they stand on is made before them. */
export interface AmbientOptions extends BoxClientOptions {
  workflows(): Workflows;
  services(): ServicesInfo;
  agents(): Pick<Agents, 'startChild'>;
  jobs(): Pick<Jobs, 'schedule' | 'unschedule'>;
  readSecret(name: string): Promise<string>;
  prompts(): Pick<Prompts, 'findPublished'>;
  config(): Pick<ConfigValues, 'read'>;
  logs(): Pick<Logs, 'write'>;
  database(): Drizzle;
  storage: Storage | undefined;
}

const WAIT_MS = 60_000;

/** What workflows, steps and tools reach of this box. */
export function createAmbient(options: AmbientOptions): Ambient {
  const { workflows, engine, services, jobs, agents } = options;
  return {
    startWorkflow: (name, input, how) => workflows().start(name, input, { trigger: 'workflow', ...how }),
    async waitForRun(started) {
      if (started.status === 'queued')
        throw new Error('The start is queued; wait for it in a workflow body, which can be suspended.');
      for (;;) {
        const run = await engine().wait(started.runId, WAIT_MS);
        if (!run || run.status === 'failed' || run.status === 'cancelled') throw decode(childFailed(run)) as Error;
        if (run.status === 'completed') return run.output === null ? undefined : decode(run.output);
      }
    },
    startTurn: (message, how) => agents().startChild(message, how),
    schedule: (request) => jobs().schedule(request),
    unschedule: (id) => jobs().unschedule(id),
    webhookUrl: (token) => `${services().agent.url}/api/webhooks/${token}`,
    startUrl: (name) => `${services().agent.url}/api/workflows/${name}/start`,
    readPrompt: (execution, request) => readPrompt(options.prompts(), execution, request),
    readConfig: (key) => options.config().read(key),
    client: createBoxClient(options),
    readSecret: options.readSecret,
    get database() {
      return options.database();
    },
    storage: options.storage,
    log: (line) => options.logs().write(line),
  };
}
