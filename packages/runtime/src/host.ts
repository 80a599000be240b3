/** What hosts a box is built from: the CLI's dev server, a container, a test. */
export { createBox } from './box.ts';
export type { Box } from './box.ts';
export type { BoxOptions } from './box/options.ts';
export { PLAIN_ROUTES } from './box/routes.ts';
export { planeStrategy } from './auth/plane-strategy.ts';
export { operatorToken } from './auth/strategy.ts';
export { boot } from './boot/boot.ts';
export { openBundle } from './boot/bundle.ts';
export type { BootOptions, RunningBox } from './boot/boot.ts';
export { createCloser } from './box/closer.ts';
export type { Closer } from './box/closer.ts';
export { BROWSER_RULE, MAX_RUNS_RULE, PROVIDER_RULE, STATEMENT_TIMEOUT_RULE, TELEMETRY_RULES } from './boot/rules.ts';
export {
  findBrokenStorage,
  formatBroken,
  readMaxRuns,
  readStatementTimeout,
  readBrowser,
  readStorageSettings,
} from './boot/environment.ts';
export type { BrokenVariable, StorageSettings } from './boot/environment.ts';
export { createForker, SUPERVISED, superviseProcess } from './boot/isolation.ts';
export type { Supervised } from './boot/isolation.ts';
export { takeOwnSecrets } from './boot/own-secrets.ts';
export { runBox } from './boot/main.ts';
export { openServerDatabase, openServerJournal } from './boot/server-stores.ts';
export { findLoadProblems } from './box/load-problems.ts';
export { BoxError, ERROR_STATUS } from './errors.ts';
export type { ErrorCode } from './errors.ts';
export { describeVariable, listVariables, readVariable } from './config.ts';
export type { Variable, VariableName } from './config.ts';
export type { Journal } from './engine/journal.ts';
export { createEngine } from './engine/engine.ts';
export type { Engine, EngineOptions } from './engine/engine.ts';
export { runOutside } from './engine/context.ts';
export { newRunId } from './engine/ids.ts';
export { installGuard } from './engine/guard/guard.ts';
export { decode } from './engine/serialize.ts';
export { openPostgresJournal } from './engine/stores/postgres/journal.ts';
export { openSqliteJournal } from './engine/stores/sqlite/journal.ts';
export { findSqlite } from './engine/stores/sqlite/driver.ts';
export { contractPayload } from './health/contract.ts';
export type { Contract } from './health/contract.ts';
export { DEFAULT_CORS_ORIGINS, isOriginEntry } from './http/cors.ts';
export { watchPeer } from './http/heartbeat.ts';
export { joinWrites } from './http/join-writes.ts';
export { pour } from './http/pour.ts';
export { createHostCheck } from './http/hosts.ts';
export { isTunnelled } from './http/tunnelled.ts';
export { listen } from './http/listen.ts';
export type { Listener } from './http/listen.ts';
export type { RouteEntry } from './http/app.ts';
export { createLog } from './log.ts';
export type { Log, LogLevel, LogRecord, RootLog } from './log.ts';
export { createLogQueue } from './logs/queue.ts';
export { createLogStore } from './logs/store.ts';
export { createMask } from './mask.ts';
export type { Mask } from './mask.ts';
export { readTelemetry } from './telemetry/settings.ts';
export type { TelemetrySettings } from './telemetry/settings.ts';
export { COPILOT_AGENT, problemOf, REFUSED_WORKFLOW_NAMES } from './manifest.ts';
export type {
  AgentEntry,
  BundleManifest,
  CompiledModule,
  DeclaredEntry,
  LoadedModule,
  Manifest,
  Problem,
  Program,
  SkillEntry,
  StepEntry,
  WorkflowEntry,
} from './manifest.ts';
export type { Operation } from './operations/define.ts';
export { splitRoute } from './operations/define.ts';
export { OPERATIONS } from './surface/index.ts';
export { parseRecording } from './runs/recording.ts';
export type { Recording } from './runs/recording.ts';
export { checkRecording } from './replay/check.ts';
export type { RecordingCheck } from './replay/check.ts';
export { replayRecording } from './replay/replay.ts';
export type { Difference, Replayed, ReplayedCall, ReplayRecordingOptions } from './replay/replay.ts';
export { createProviderStore } from './provider/store.ts';
export type { JsonSchema } from './schema/schema.ts';
export { toJsonSchema } from './schema/schema.ts';
export { createRarely } from './runs/rarely.ts';
export type { StoppedRun } from './runs/stopped.ts';
export { checkCanary } from './secrets/canary.ts';
export { loadMasterKey } from './secrets/master-key.ts';
export { rewrapSecrets } from './secrets/rewrap.ts';
export { createSecretStore } from './secrets/store.ts';
export { toBucketName } from './storage/bucket-name.ts';
export { createStorage } from './storage/storage.ts';
export { openDatabase } from './stores/database.ts';
export type { Database } from './stores/database.ts';
export { ensureInstallation } from './stores/installation.ts';
export { applyProjectMigrations, findPendingMigrations, listAppliedMigrations } from './stores/project-migrations.ts';
export type { AppliedMigration, ProjectMigration } from './stores/project-migrations.ts';
export type { StoreClient } from './stores/client.ts';
export { acquireLock } from './stores/lock.ts';
export type { Lock } from './stores/lock.ts';
export type { KeyValueStore } from './stores/kv.ts';
export { createMemoryKv } from './stores/kv-memory.ts';
export { openRedisKv } from './stores/kv-redis.ts';
export { openPg } from './stores/pg.ts';
export { createDrizzle } from './stores/drizzle.ts';
export { openPglite } from './stores/pglite.ts';
export { servePostgres } from './stores/pg-socket.ts';
export { toWorkspaceConfig } from './workspace-config.ts';
export type { WorkspaceConfig } from './workspace-config.ts';
