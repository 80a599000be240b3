import type { Body } from '../engine/body.ts';
import type { JournalRecord } from '../engine/journal/record.ts';
import type { RunRow } from '../engine/journal/run.ts';
import { bodyOf } from '../engine/primitives/hook.ts';
import type { SessionStore } from './turn/session-store.ts';
import { createRemembering } from './turn/memory.ts';
import type { TurnMemory } from './turn/memory.ts';
import { clientGone, toTurnError } from './events/turn-errors.ts';
import { COPILOT_AGENT } from '../manifest.ts';
import { budgetOf } from './copilot.ts';
import type { HideArguments } from '../approvals/tool-approval.ts';
import type { AgentTools } from './agent-tools.ts';
import type { TurnFiles } from './files/turn-files.ts';
import type { AgentFinder } from './find-agent.ts';
import type { LiveTurns } from './reading/live-turns.ts';
import type { CallModel } from './model/client.ts';
import type { TurnGuardrails } from './judge-input.ts';
import { createTurnGuard } from './turn/guard.ts';
import type { Hide } from './turn/hidden-calls.ts';
import { outputRuleOf } from './turn/output.ts';
import { createToolset } from './turn/toolset.ts';
import type { ConversationMessage, ConversationSummary, TurnInput } from './turn/input.ts';
import { NO_STATE } from '../tools/state.ts';
import { beganWithoutInstructions, readInstructions } from './turn/instructions.ts';
import { listModelCalls } from './reading/recorded-messages.ts';
import { holdInput } from './turn/held-input.ts';
import { beginTurn, runTurn } from './turn/turn.ts';
import type { TurnAdded } from './turn/options.ts';

export type TurnRun = Pick<RunRow, 'runId' | 'name' | 'sessionId' | 'parentRunId' | 'startedBy'> &
  Partial<Pick<RunRow, 'codeHash'>>;

/** The code of the run of a turn. Throws when its agent cannot answer. */
export type ToTurnBody = (
  run: TurnRun,
  input: TurnInput,
  readPublished: ReadPublished,
  found?: FoundTurn,
) => Promise<Body>;

/** What is known of a turn that was found in the journal. */
export interface FoundTurn {
  hadApprovalBelow: boolean;
}

/** The published instructions of the turn. Undefined: there are none. */
export type ReadPublished = () => Promise<string | undefined>;

export interface TurnBodyOptions {
  finder: AgentFinder;
  tools: AgentTools;
  sessions: SessionStore;
  live: LiveTurns;
  callModel: CallModel;
  guardrails?: TurnGuardrails | undefined;
  hideArguments?: HideArguments | undefined;
  files: Pick<TurnFiles, 'forModel'>;
  memory?: TurnMemory | undefined;
}

export function createTurnBody(options: TurnBodyOptions): ToTurnBody {
  const { finder, tools, sessions, live, callModel, guardrails, hideArguments, files, memory } = options;
  return async (run, input, readPublished, { hadApprovalBelow } = { hadApprovalBelow: false }) => {
    const { agent, codeHash, registry } = await finder.ofRun(run);
    const { tools: own, notes } = await tools.list(agent, run);
    const toolset = createToolset(agent, own, input.tools);
    const { runId, sessionId } = run;
    const { session } = input;
    const output = await outputRuleOf(agent, input);
    let published: string | undefined;
    let history: ConversationMessage[] = [];
    let state = NO_STATE;
    let summary: ConversationSummary | undefined;
    let found: readonly JournalRecord[] = [];
    const remembering = createRemembering({ memory, agent, run, input, records: () => found });
    const save = async (id: string, added: TurnAdded): Promise<void> => {
      await sessions.add({
        sessionId: id,
        runId,
        ...added,
        ...(session
          ? { kind: 'session', cutAfter: session.cutAfter }
          : { kind: 'conversation', messages: [], state: NO_STATE }),
      });
      await remembering?.keep({ runId, messages: added.messages });
    };
    return {
      codeHash,
      registry,
      durability: 'synced',
      // The session is this turn's until it ends, so what is read here is what was there when it began.
      async prepare(records) {
        found = records;
        published = await readPublished();
        if (session && sessionId !== null)
          ({ messages: history, state, summary } = await sessions.read(sessionId, session.cutAfter, runId));
      },
      async run() {
        const emit = live.emitterOf(runId, { isJoined: session !== undefined || input.isKeyed === true });
        const execution = bodyOf('runTurn');
        const { held } = input;
        beginTurn(execution, run.name, emit);
        // Before anyone is asked anything about it.
        if (held) await holdInput(execution, { agent: run.name, input: { ...input, held }, emit });
        const isRecorded = !beganWithoutInstructions(found);
        const instructions = [published ?? (await readInstructions(agent, { isRecorded })), ...notes];
        const showEarlier = await remembering?.recall();
        return runTurn({
          agent,
          input,
          instructions: instructions.filter(Boolean).join('\n\n'),
          history,
          summary,
          recordedCalls: listModelCalls(found),
          state,
          toolset,
          // Neither the files themselves nor what was said earlier is a part of what is recorded.
          async callModel(request, reply, signal) {
            const messages = showEarlier ? await showEarlier(request.messages) : request.messages;
            return callModel({ ...request, messages: await files.forModel(sessionId, messages) }, reply, signal);
          },
          emit,
          untilTaken: (signal) => live.untilTaken(runId, signal),
          ...(guardrails ? { guard: createTurnGuard(guardrails, execution.run, input) } : {}),
          ...hiding(run.name, hideArguments),
          ...budgetOf(run.name),
          ...(output ? { output } : {}),
          ...(sessionId === null ? {} : { save: (added) => save(sessionId, added) }),
        }).catch((error: unknown) => {
          throw toTurnError(error);
        });
      },
      // The client of a stateless turn went with the process, unless that is another run, or asks again under its key.
      // Of one that waits for an approval, the client knows that it does.
      ...(session || input.isKeyed || run.parentRunId !== null
        ? {}
        : {
            whenFound: (records) =>
              hadApprovalBelow || records.some(isWait) || live.isRead(runId) ? undefined : clientGone(),
          }),
    };
  };
}

// --- internal ---

function hiding(name: string, hide: HideArguments | undefined): { hide?: Hide } {
  if (name !== COPILOT_AGENT || !hide) return {};
  const { run } = bodyOf('runTurn');
  return { hide: (tool, args) => hide(tool, args, run) };
}

function isWait({ kind }: JournalRecord): boolean {
  return kind === 'hook';
}
