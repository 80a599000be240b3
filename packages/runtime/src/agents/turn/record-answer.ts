import type { Attempt } from '../../engine/call.ts';
import type { ToolCall } from '../model/messages.ts';
import { guardResult } from './guard.ts';
import { passResult } from './held-result.ts';
import type { ConversationMessage } from './input.ts';
import type { RecordedAnswer, ToolAnswer } from './recorded-answer.ts';
import { emitResult, toMessage } from './tool-answer.ts';
import type { ToolTurn } from './tool-turn.ts';

/**
 * Records and emits what a tool answers, as far as the rules let it pass, and answers the message the model reads. What a rule
 * holds waits for its decision. `durationMs`: how long it took where that is not the time of `answer`.
 */
export async function recordAnswer(
  turn: ToolTurn,
  call: ToolCall,
  answer: (attempt: Attempt) => Promise<ToolAnswer>,
  durationMs?: number,
): Promise<ConversationMessage> {
  const recorded = (await turn.invoke('tool', `tool:${call.name}`, call, {
    name: call.name,
    async run(attempt): Promise<RecordedAnswer> {
      const started = performance.now();
      const given = { tool: call.name, mayWait: turn.mayWait };
      const judged = await guardResult(turn.options.guard, given, await answer(attempt));
      const { held, ...shown } = judged;
      // What waits is emitted once that is decided.
      if (!held)
        emitResult(turn, call, { ...shown, durationMs: durationMs ?? Math.round(performance.now() - started) });
      return judged;
    },
  })) as RecordedAnswer;
  return recorded.held ? passResult(turn, call, recorded.held) : toMessage(call, recorded);
}
