import type { Ambient } from '../engine/handle.ts';
import type { Engine } from '../engine/engine.ts';
import { childFailed } from '../engine/outcome.ts';
import { decode } from '../engine/serialize.ts';
import type { ServicesInfo } from '../health/health.ts';
import type { Workflows } from './workflows.ts';

/** Rooms are handed as functions: the engine they stand on is made before them. */
export interface AmbientOptions {
  workflows(): Workflows;
  engine(): Engine;
  services(): ServicesInfo;
}

const WAIT_MS = 60_000;

/** What workflows, steps and tools reach of this box. */
export function createAmbient({ workflows, engine, services }: AmbientOptions): Ambient {
  return {
    startWorkflow: (name, input, options) => workflows().start(name, input, { trigger: 'workflow', ...options }),
    async waitForRun(started) {
      if (started.status === 'queued')
        throw new Error('The start is queued; wait for it in a workflow body, which can be suspended.');
      for (;;) {
        const run = await engine().wait(started.runId, WAIT_MS);
        if (!run || run.status === 'failed' || run.status === 'cancelled') throw decode(childFailed(run)) as Error;
        if (run.status === 'completed') return run.output === null ? undefined : decode(run.output);
      }
    },
    webhookUrl: (token) => `${services().agent.url}/api/webhooks/${token}`,
  };
}
