import type { Approvals } from './approvals/approvals.ts';
import type { ApiKeys } from './auth/api-keys.ts';
import type { Catalog } from './catalog/catalog.ts';
import type { Events } from './events/events.ts';
import type { Gate } from './gate/gate.ts';
import type { Health } from './health/health.ts';
import type { Hooks } from './hooks/hooks.ts';
import type { Jobs } from './jobs/jobs.ts';
import type { ModelProvider } from './provider/provider.ts';
import type { Runs } from './runs/runs.ts';
import type { SessionHistory } from './sessions/history.ts';
import type { Workflows } from './workflows/workflows.ts';

/** What every handler is given: one entry per room. */
export interface Rooms {
  approvals: Approvals;
  catalog: Catalog;
  events: Events;
  gate: Gate;
  health: Health;
  hooks: Hooks;
  jobs: Jobs;
  keys: ApiKeys;
  provider: ModelProvider;
  runs: Runs;
  sessions: SessionHistory;
  workflows: Workflows;
}
