import type { Activity } from '../activity/activity.ts';
import type { Approvals } from '../approvals/approvals.ts';
import type { ApiKeys } from '../keys/api-keys.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { CatalogEntries } from '../catalog/entries.ts';
import type { ConfigValues } from '../config-values/config-values.ts';
import type { Events } from '../events/events.ts';
import type { Gate } from '../gate/gate.ts';
import type { Health } from '../health/health.ts';
import type { Hooks } from '../hooks/hooks.ts';
import type { Jobs } from '../jobs/jobs.ts';
import type { Logs } from '../logs/logs.ts';
import type { Prompts } from '../prompts/prompts.ts';
import type { OperationCatalog } from './catalog.ts';
import type { Models } from '../provider/models.ts';
import type { ModelProvider } from '../provider/provider.ts';
import type { RunExports } from '../runs/export.ts';
import type { Runs } from '../runs/runs.ts';
import type { RunWhy } from '../runs/why.ts';
import type { SessionHistory } from '../sessions/history.ts';
import type { Secrets } from '../secrets/secrets.ts';
import type { WorkspaceSettings } from '../settings/settings.ts';
import type { Setup } from '../settings/setup.ts';
import type { Workflows } from '../workflows/workflows.ts';

/** What every handler is given: one entry per room. */
export interface Rooms {
  activity: Activity;
  approvals: Approvals;
  catalog: Catalog;
  entries: CatalogEntries;
  config: ConfigValues;
  events: Events;
  exports: RunExports;
  gate: Gate;
  health: Health;
  hooks: Hooks;
  jobs: Jobs;
  keys: ApiKeys;
  models: Models;
  operations: OperationCatalog;
  logs: Logs;
  prompts: Prompts;
  provider: ModelProvider;
  runs: Runs;
  sessions: SessionHistory;
  why: RunWhy;
  secrets: Secrets;
  settings: WorkspaceSettings;
  /** The checklist of the first run. */
  setup(): Promise<Setup>;
  workflows: Workflows;
}
