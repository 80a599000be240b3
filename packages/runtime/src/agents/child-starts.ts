import { askedByOf, pinnedModel, pinnedPrompts } from '../engine/box-marks.ts';
import { LONGEST_TIMER_MS } from '../engine/duration.ts';
import type { Engine } from '../engine/engine.ts';
import { newRunId } from '../engine/ids.ts';
import type { RunRow } from '../engine/journal/run.ts';
import { splitName } from '../definitions/subagents.ts';
import type { AgentFinder } from './find-agent.ts';
import { judgeTurnInput } from './judge-input.ts';
import type { TurnGuardrails } from './judge-input.ts';
import type { LiveTurns } from './reading/live-turns.ts';
import type { TurnLimits } from './turn-limits.ts';
import type { TurnStarts } from './turn-starts.ts';
import { TASK } from '../tools/builtin/task.ts';
import { nextDepth, toChildRequest, toTextReader } from './turn/child.ts';
import type { TurnInput } from './turn/input.ts';
import { toTurnInput } from './turn/request.ts';
import { BOX_OWNER } from './turn/session-store.ts';
import type { SessionStore } from './turn/session-store.ts';
import type { AgentMessage, StartedTurn, StartTurnOptions } from '../engine/handle.ts';

/** Begins turns below a run, for code in that run. */
export type StartChild = (message: AgentMessage, options: StartTurnOptions) => Promise<StartedTurn>;

export interface ChildStartsOptions {
  engine: Pick<Engine, 'wait'>;
  sessions: SessionStore;
  live: Pick<LiveTurns, 'tap'>;
  finder: Pick<AgentFinder, 'ofRun' | 'modelOf'>;
  starts: Pick<TurnStarts, 'startRun'>;
  limits: Pick<TurnLimits, 'enterBelow' | 'leave'>;
  guardrails?: TurnGuardrails | undefined;
}

export function createChildStarts(options: ChildStartsOptions): StartChild {
  const { engine, sessions, live, finder, starts, limits, guardrails } = options;
  return async (asked, { parent, idempotencyKey, callId, onText, trigger = 'workflow', timeoutMs }) => {
    const { agent: name, session } = asked;
    // What an agent declares is a part of its code: its sub-agents are those the turn above has.
    const { codeHash } = isDeclaredBy(name, parent) ? parent : {};
    const model = pinnedModel(parent) ?? (await finder.modelOf(name, codeHash));
    await finder.ofRun({ name, codeHash });
    const depth = nextDepth(name, parent);
    const askedBy = askedByOf(parent);
    const runId = newRunId();
    const given = toTurnInput(runId, toChildRequest(asked, idempotencyKey), model);
    const judged = await judgeTurnInput(guardrails, { name, runId, askedBy }, given);
    await limits.enterBelow({ runId, name }, parent);
    const input: TurnInput = {
      ...judged,
      depth,
      ...(callId === undefined ? {} : { callId, resultOf: { agent: parent.name, tool: TASK } }),
    };
    const stopReading = onText && live.tap(runId, toTextReader(onText));
    try {
      const sessionId =
        session === undefined
          ? null
          : await sessions.open({
              agent: name,
              name: session,
              owner: BOX_OWNER,
              kind: 'session',
              ...(askedBy === undefined ? {} : { askedBy }),
            });
      const { runId: parentRunId, startedBy } = parent;
      const run = { runId, name, sessionId, parentRunId, startedBy, ...(codeHash === undefined ? {} : { codeHash }) };
      const { runId: childId } = await starts.startRun(run, input, {
        trigger,
        pinned: pinnedPrompts(parent),
        ...(timeoutMs === undefined ? {} : { timeoutMs }),
        parentRunId,
        idempotencyKey,
      });
      // The same start again: that turn has been let in before.
      if (childId !== runId) limits.leave(runId);
      if (stopReading)
        void engine
          .wait(childId, LONGEST_TIMER_MS)
          .finally(stopReading)
          .catch(() => {});
      return { runId: childId, sessionId };
    } catch (error) {
      stopReading?.();
      limits.leave(runId);
      throw error;
    }
  };
}

// --- internal ---

/** Whether it is a sub-agent of the agent whose turn hands work to it, and no agent of the workspace. */
function isDeclaredBy(name: string, { kind, name: above }: RunRow): boolean {
  const { agent, subagent } = splitName(name);
  return subagent !== undefined && kind === 'agent' && agent === splitName(above).agent;
}
