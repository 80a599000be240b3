import { createAgents } from '../agents/agents.ts';
import type { Agents } from '../agents/agents.ts';
import { createAskGuardrailModel } from '../agents/model/ask-guardrail-model.ts';
import { createJudgeRecorded } from '../agents/reading/judge-recorded.ts';
import { createTurnFiles } from '../agents/files/turn-files.ts';
import type { TurnFiles } from '../agents/files/turn-files.ts';
import type { SessionStore } from '../agents/turn/session-store.ts';
import { createAi } from '../ai/ai.ts';
import type { Ai } from '../ai/ai.ts';
import type { Auth } from '../auth/auth.ts';
import { createCredentialWatch } from '../auth/credential-watch.ts';
import type { CredentialWatch } from '../auth/credential-watch.ts';
import type { AskModel } from '../guardrails/checks/whole.ts';
import type { JudgeRecorded } from '../guardrails/recorded.ts';
import type { CatalogOverrides } from '../catalog/overrides.ts';
import { createUsedOnce } from '../stores/used-once.ts';
import { createProjectTables } from '../catalog/project-tables.ts';
import type { ProjectTables } from '../catalog/project-tables.ts';
import { createCatalogOverrides } from '../catalog/stored-overrides.ts';
import { createCopilot } from '../copilot/agent.ts';
import type { Copilot } from '../copilot/agent.ts';
import { createCodeScorers } from '../evals/code-scorers.ts';
import type { CodeScorers } from '../evals/code-scorers.ts';
import { COPILOT_AGENT } from '../manifest.ts';
import { createNotify } from '../notify/notify.ts';
import type { Notify } from '../notify/notify.ts';
import { createPublishedInstructions } from '../prompts/instructions.ts';
import { createRetention } from '../retention/retention.ts';
import type { Retention } from '../retention/retention.ts';
import { forgetCut } from '../memory/rows.ts';
import { createSessions, listKnown } from '../sessions/sessions.ts';
import type { Rooms } from '../surface/rooms.ts';
import { createVersions } from '../versions/versions.ts';
import type { Versions } from '../versions/versions.ts';
import { createBoxAuth } from './access.ts';
import type { Part } from './assemble.ts';
import { createBoxConfirmations } from './confirmations.ts';
import type { BoxConfirmations } from './confirmations.ts';
import type { Ground } from './ground.ts';
import { createOpening } from './opening.ts';
import type { Opening } from './opening.ts';
import { createProgram } from './program.ts';
import type { LoadedProgram } from './program.ts';

/** What rooms are made of, and what runs beside them: no handler is given one. */
export interface Parts {
  agents: Agents;
  ai: Ai;
  askModel: AskModel;
  auth: Auth;
  confirmations: BoxConfirmations;
  copilot: Copilot;
  judgeRecorded: JudgeRecorded;
  notify: Notify;
  opening: Opening;
  overrides: CatalogOverrides;
  program: LoadedProgram;
  retention: Retention;
  scorers: CodeScorers;
  sessionStore: SessionStore;
  tables: ProjectTables;
  turnFiles: TurnFiles;
  versions: Versions;
  watch: CredentialWatch;
}

/** All that a part or a room can ask for. */
export type Given = Ground & Parts & Rooms;

const parts: { [Name in keyof Parts]: Omit<Part<Given, Name, Parts[Name]>, 'name'> } = {
  agents: {
    create: (given) =>
      createAgents({
        catalog: given.catalog,
        connections: given.connections,
        engine: given.engine,
        log: given.log,
        isArmed: given.opening.areAgentsArmed,
        sessions: given.sessionStore,
        journal: given.journal,
        files: given.turnFiles,
        memory: given.memory,
        instructions: createPublishedInstructions(given.prompts, given.log, (agent) =>
          agent === COPILOT_AGENT && given.catalog.isReplaced(agent) ? COPILOT_AGENT : 'instructions',
        ),
        isCopilotEnabled: given.settings.isCopilotEnabled,
        hideArguments: given.copilot.hideArguments,
        defaultModel: given.settings.defaultModel,
        limiter: given.limiter,
        overrides: given.overrides,
        versions: given.versions,
        guardrails: given.guardrails,
        callModel: given.opening.callModel,
      }),
    close: (agents) => agents.close(),
  },
  ai: {
    create: ({
      opening: { callModel, callEmbeddings, callRerank },
      settings: { defaultModel },
      embeddingModel,
      limiter,
      telemetry,
      foundation: {
        charge,
        options: { prices = () => ({}) },
      },
    }) =>
      createAi({
        callModel,
        callEmbeddings,
        callRerank,
        defaultModel,
        embeddingModel,
        limiter,
        prices,
        onPart(call) {
          telemetry.called(call);
          if (call.tokens) charge(call.run, call.reply?.asked ?? call.model, call.tokens);
        },
      }),
  },
  askModel: {
    // The program is made of guardrails, and what opens a box of the program.
    create: (given) =>
      createAskGuardrailModel({
        callModel: () => given.opening.callModel,
        defaultModel: () => given.settings.defaultModel(),
      }),
  },
  auth: { create: createBoxAuth },
  confirmations: { create: ({ foundation }) => createBoxConfirmations(foundation) },
  copilot: {
    create: ({ foundation, confirmations, journal, log }) =>
      createCopilot({
        rooms: () => foundation.above.get().rooms,
        confirmations: confirmations.copilot,
        sealed: confirmations.arguments,
        used: createUsedOnce(foundation.options.db, 'confirmation'),
        journal,
        log,
      }),
  },
  judgeRecorded: { create: ({ journal, engine }) => createJudgeRecorded({ journal, engine }) },
  notify: {
    create: ({ journal, approvals, options, secrets, url, version, foundation: { mask }, log, telemetry }) =>
      createNotify({
        journal,
        approvals,
        settings: options.notify ?? (() => undefined),
        readSecret: async (name) => process.env[name] ?? secrets.read(name),
        url,
        version,
        mask,
        log,
        count: telemetry.notified,
        limits: options.notifyLimits,
      }),
    close: (notify) => notify.close(),
  },
  opening: {
    create: ({ foundation, program }) => createOpening(foundation, program),
    close: ({ provider }) => provider.close(),
  },
  overrides: {
    create: ({ db, kv, isOpen }) => createCatalogOverrides({ db, kv, isOpen }),
    close: (overrides) => overrides.close(),
  },
  program: {
    create: ({ catalog, config, tables, jobs, guardrails, connections, scorers, events, versions, engine, options }) =>
      createProgram({
        catalog,
        config,
        tables,
        jobs,
        guardrails,
        connections,
        scorers,
        versions,
        replicas: engine.replicas,
        isSupervised: options.supervisor !== undefined,
        onLoad: () => events.publish({ type: 'program.changed' }),
      }),
  },
  retention: {
    create: ({ options, sessions, journal, foundation, logs, guardrails, evals, isBlank, settings, log }) =>
      createRetention({
        settings: options.retention ?? (() => ({})),
        sessions,
        journal,
        deleteRuns: foundation.deleteRuns,
        logs: options.records && logs,
        hits: guardrails,
        evalRuns: {
          removeOlder: async (age, limit) => (isBlank() ? 0 : evals.runs.removeOlder(age, limit)),
        },
        logDays: options.logRetentionDays ?? settings.logRetentionDays,
        log,
        ...(options.retentionEveryMs === undefined ? {} : { everyMs: options.retentionEveryMs }),
      }),
    close: (retention) => retention.close(),
  },
  scorers: { create: () => createCodeScorers() },
  sessionStore: {
    create: ({ db, events }) =>
      createSessions(db, {
        onChange: (sessionId, askedBy) => events.publish({ type: 'session.updated', sessionId, askedBy }),
        onCut: forgetCut,
      }),
  },
  tables: { create: ({ db }) => createProjectTables(db) },
  turnFiles: {
    create: ({ options: { storage }, db, log }) =>
      createTurnFiles({ storage, log, listSessions: (ids) => listKnown(db, ids) }),
    close: (files) => files.close(),
  },
  versions: {
    create: ({
      catalog,
      journal,
      masterKey,
      log,
      options: { host, supervisor, previousSecretKey, isNewestForAll = false },
    }) =>
      createVersions({
        catalog,
        store: journal.code,
        key: masterKey,
        previousKey: previousSecretKey,
        log,
        keeps: supervisor ? 'none' : host === 'image' ? 'all' : 'open',
        isNewestForAll,
      }),
    close: (versions) => versions.close(),
  },
  watch: {
    // Asked while a stream is open: to make the keys it is there before them.
    create: (given) => createCredentialWatch({ requireKey: (id) => given.keys.requireKey(id) }),
    close: (watch) => watch.close(),
  },
};

export const PARTS: readonly Part<Given>[] = Object.entries(parts).map(([name, part]) => ({ name, ...part }));
