import type { Catalog } from '../catalog/catalog.ts';
import type { CatalogOverrides } from '../catalog/overrides.ts';
import type { Engine } from '../engine/engine.ts';
import type { Body } from '../engine/body.ts';
import type { AgentMessage, StartedTurn, StartTurnOptions } from '../engine/handle.ts';
import type { Journal } from '../engine/journal.ts';
import type { RunRow } from '../engine/journal/run.ts';
import { decode } from '../engine/serialize.ts';
import type { BoxError } from '../errors.ts';
import type { Log } from '../log.ts';
import type { PublishedInstructions } from '../prompts/instructions.ts';
import type { Issue, JsonSchema } from '../schema/schema.ts';
import type { TurnMemory } from './turn/memory.ts';
import type { SessionPlace, SessionStore } from './turn/session-store.ts';
import { COPILOT_AGENT } from '../manifest.ts';
import { createTurnFiles } from './files/turn-files.ts';
import type { TurnFiles } from './files/turn-files.ts';
import { createAgentTools } from './agent-tools.ts';
import { createChildStarts } from './child-starts.ts';
import { createOpenTurns } from './threads/open-turns.ts';
import type { OpenConversation } from './threads/open-turns.ts';
import { createTurnLimits } from './turn-limits.ts';
import type { TurnLimitsOptions } from './turn-limits.ts';
import { createTurnRetries } from './turn-retries.ts';
import type { RetryTurn } from './turn-retries.ts';
import { createTurnRequests } from './turn-requests.ts';
import { createTurnStarts } from './turn-starts.ts';
import { createAgentFinder } from './find-agent.ts';
import type { AgentFinder } from './find-agent.ts';
import { createLiveTurns } from './reading/live-turns.ts';
import type { CallModel } from './model/client.ts';
import { hasOutputRule } from './turn/output.ts';
import type { Caller } from '../auth/caller.ts';
import type { Services } from '../tools/mcp/services.ts';
import type { HideArguments } from '../approvals/tool-approval.ts';
import type { TurnGuardrails } from './judge-input.ts';
import { createPendingApprovals } from './reading/pending.ts';
import { createRepeats } from './reading/repeats.ts';
import type { VersionedRun, Versions } from '../versions/versions.ts';
import { createTurnBody } from './turn-body.ts';
import type { ConversationMessage, TurnInput, TurnKey } from './turn/input.ts';
import type { RunningTurn } from './reading/running-turn.ts';
import { createTurnReaders } from './reading/readers.ts';
import type { TurnRequest } from './turn/request.ts';
import { sumUsage } from './events/usage.ts';

export interface Agents {
  /** Those that are offered: without the reserved copilot, and without those an operator hid. */
  names(): Promise<string[]>;
  /** Also one that an operator hid: it answers callers who know its name. */
  has(name: string): boolean;
  /** Begins a turn as a run. Throws before anything is recorded when the agent cannot answer. */
  startTurn(request: TurnRequest): Promise<RunningTurn>;
  /** The turn a client has begun under that key, replayed, or followed while it is under way. Throws `idempotency_conflict` when it was another one. */
  findRepeat(agent: string, key: TurnKey): Promise<RunningTurn | undefined>;
  retryTurn: RetryTurn;
  /** Begins a turn below a run, for code in that run. The same key answers the same turn. */
  startChild(message: AgentMessage, options: StartTurnOptions): Promise<StartedTurn>;
  /** What it takes of what clients say around a conversation. */
  surroundingsOf(name: string): Surroundings;
  /** Throws when the agent cannot answer. */
  requireAgent(name: string): void;
  /**
   * Reads on where a turn that waited for an approval goes on: call it before what it waits for is decided. One that goes
   * on in another process is read as the journal holds it: its end, or the calls it waits for next. `known`: the approvals
   * it is known to wait for. `isJoining`: first what it has emitted since its last model call began, in this process.
   * `countsAll`: what it has used before counts, too.
   */
  follow(
    run: RunRow,
    known?: readonly string[],
    how?: { isJoining?: boolean; countsAll?: boolean },
  ): Promise<RunningTurn>;
  /**
   * Before a client lets a turn of its own go on that waits for it: no more of them than may begin. Throws `rate_limited` and
   * `budget_exceeded`. Who has a seat is held to no limit of others.
   */
  requireRoom(run: RunRow, by: Caller): Promise<void>;
  /** The approvals the turn waits for now, those of its sub-agents too. */
  listPending(run: RunRow): Promise<string[]>;
  /** The turn a session has not ended, if there is one. Throws when the agent cannot answer. */
  findOpenTurn(place: SessionPlace): Promise<RunRow | undefined>;
  /** What a request is refused with that such a turn stands in the way of. */
  toTurnOpen(open: RunRow): Promise<BoxError>;
  /** A turn of a session, ended or not, by its run or by that of one of its sub-agents. */
  findTurn(place: SessionPlace, runId: string): Promise<RunRow | undefined>;
  /** The conversation of a turn that has not ended, with what it has made so far. */
  readOpenTurn(run: RunRow): Promise<ConversationMessage[]>;
  /** The same in two. */
  splitOpenTurn(run: RunRow): Promise<OpenConversation>;
  /** What is wrong with arguments for a tool of the box. A tool that is gone has nothing to say. */
  checkArguments(run: VersionedRun, tool: string, args: unknown): Promise<Issue[]>;
  /** The JSON Schema of the arguments of a tool of the box, as the agent of the run has it. Undefined: it is gone. */
  describeArguments(run: VersionedRun, tool: string): Promise<JsonSchema | undefined>;
  /** What is recorded of the arguments of the copilot's calls. Undefined: all. */
  hideArguments: HideArguments | undefined;
  /** The code of a turn that goes on in this process. */
  body(run: RunRow): Promise<Body>;
  /** The newest code of a turn, to be led through what the turn has recorded beside it: no one reads what it emits. */
  newestBody(run: RunRow): Promise<Body>;
  /** Ends the connections to the servers that agents use, and the readers of turns. The engine has ended before. */
  close(): Promise<void>;
}

/** `pointer`: where in the dashboard the person is, and nothing of what is shown there. */
export type Surroundings = 'all' | 'pointer' | 'none';

export interface AgentsOptions {
  catalog: Catalog;
  /** They take the place of those in an agent's code. Undefined: there are none. */
  instructions?: PublishedInstructions;
  engine: Engine;
  sessions: SessionStore;
  journal: Pick<Journal, 'getRun' | 'getRecords' | 'hooks' | 'listRuns'>;
  callModel: CallModel;
  log: Log;
  isArmed(): boolean;
  defaultModel(): Promise<string | undefined> | string | undefined;
  /** Undefined: nothing has limits. */
  limiter?: TurnLimitsOptions['limiter'];
  /** What may pass. Undefined: there are no rules. */
  guardrails?: TurnGuardrails;
  /** What MCP servers of agents may be connections of. Undefined: there are none. */
  connections?: Services;
  /** What is recorded of the arguments of the copilot's calls. Undefined: all. */
  hideArguments?: HideArguments;
  /** Undefined: it answers. */
  isCopilotEnabled?(): Promise<boolean>;
  /** Undefined: nothing is remembered. */
  memory?: TurnMemory;
  /** Undefined: files stay in their messages. */
  files?: TurnFiles;
  /** What an operator chose beside the code. Undefined: no overrides. */
  overrides?: Pick<CatalogOverrides, 'find' | 'listShown'>;
  /** Undefined: no earlier version of an agent is kept. */
  versions?: Pick<Versions, 'findAgent'>;
}

export function createAgents(options: AgentsOptions): Agents {
  const { catalog, engine, journal, sessions } = options;
  const live = createLiveTurns();
  const finder = createAgentFinder(options);
  const tools = createAgentTools(options);
  const pending = createPendingApprovals({ journal, engine });
  const readers = createTurnReaders({ live, engine, pending });
  const repeats = createRepeats({
    engine,
    journal,
    sessions,
    pending,
    readers,
    isChecked: (name, input) => hasOutputRule(finder.find(name), input),
  });
  const { instructions, guardrails, callModel, hideArguments, memory } = options;
  const { files = createTurnFiles({ storage: undefined, log: options.log, listSessions: async () => [] }) } = options;
  const turnOptions = { finder, tools, sessions, live, callModel, guardrails, hideArguments, files, memory };
  const toBody = createTurnBody(turnOptions);
  const newest: AgentFinder = { ...finder, ofRun: async ({ name }) => finder.get(name) };
  const toNewestBody = createTurnBody({ ...turnOptions, finder: newest, live: createLiveTurns() });

  const turns = createOpenTurns({ journal, sessions, finder, pending });
  const starts = createTurnStarts({ engine, sessions, instructions, open: turns, toBody });
  const limits = createTurnLimits(options);
  const startChild = createChildStarts({ engine, sessions, live, finder, starts, limits, guardrails });
  const findAgentOf = async (run: VersionedRun) => (await finder.ofRun(run).catch(() => undefined))?.agent;

  return {
    has: (name) => catalog.agents().some(({ entry }) => entry.name === name),
    async names() {
      const names = catalog.agents().map(({ entry }) => entry.name);
      return options.overrides?.listShown('agent', names) ?? names;
    },
    startTurn: createTurnRequests({ ...options, files, finder, tools, repeats, readers, starts, limits }),
    async findRepeat(agent, key) {
      const first = await repeats.find(agent, key);
      return first && repeats.replay(first);
    },
    startChild,
    surroundingsOf: (name) => (name !== COPILOT_AGENT ? 'all' : catalog.isReplaced(name) ? 'none' : 'pointer'),
    requireAgent: (name) => void finder.get(name),
    retryTurn: createTurnRetries({ engine, journal, finder, open: turns }),
    async follow(
      { runId, sessionId, createdAt: startedAt },
      known = [],
      { isJoining = false, countsAll = false } = {},
    ) {
      const endsAlone = sessionId === null;
      const reader = readers.open(runId, { known, isAwaited: endsAlone, isJoining });
      try {
        const before = countsAll ? {} : { before: sumUsage(await journal.getRecords(runId)) };
        return readers.read({ runId, sessionId, startedAt, endsAlone, ...before }, reader);
      } catch (error) {
        reader.close();
        throw error;
      }
    },
    async requireRoom({ runId, name }, { limited }) {
      if (limited) await limits.enterAgain({ runId, name, limited });
    },
    listPending: ({ runId }) => pending.listPending(runId),
    findOpenTurn: turns.findOpenTurn,
    toTurnOpen: turns.toTurnOpen,
    findTurn: turns.findTurn,
    readOpenTurn: turns.readOpenTurn,
    splitOpenTurn: turns.splitOpenTurn,
    hideArguments,
    async checkArguments(run, tool, args) {
      const agent = await findAgentOf(run);
      return agent ? tools.checkArguments(agent, tool, args) : [UNCHECKED];
    },
    describeArguments: async (run, tool) => tools.describeArguments(await findAgentOf(run), tool),
    async body(run) {
      const input = decode(run.input) as TurnInput;
      // The client of a turn whose sub-agent has waited for an approval knows that it does, as of one that waited itself.
      const mayEndAlone = !input.session && !input.isKeyed && run.parentRunId === null;
      const hadApprovalBelow = mayEndAlone && (await pending.hadApprovalBelow(run.runId));
      return toBody(run, input, async () => options.instructions?.resume(run), { hadApprovalBelow });
    },
    newestBody: async (run) =>
      toNewestBody(run, decode(run.input) as TurnInput, async () => options.instructions?.resume(run)),
    async close() {
      readers.close();
      await tools.close();
    },
  };
}

// --- internal ---

/** The tool may be one that takes anything else. */
const UNCHECKED: Issue = {
  path: [],
  message: 'Its code cannot be loaded, so they cannot be checked: approve the call without "input", or reject it.',
};
