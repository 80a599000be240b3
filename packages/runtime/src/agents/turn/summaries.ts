import { compactionLimit } from '../../definitions/context.ts';
import type { ReplyOptions } from '../model/reply.ts';
import { COMPACT, compact, repeatSummaries } from './compaction.ts';
import type { SummaryPlace, SummaryRequest } from './compaction.ts';
import { estimateTokens } from './context-size.ts';
import type { TurnConversation } from './conversation.ts';
import { callLimits } from './model-calls.ts';
import type { ModelCalls } from './model-calls.ts';
import type { TurnOptions } from './options.ts';

export interface SummariesOptions {
  turn: TurnOptions;
  conversation: TurnConversation;
  calls: ModelCalls;
  replyOptions(): ReplyOptions;
}

/** The summaries a turn makes of the conversation before it. */
export class Summaries {
  readonly #options: SummariesOptions;
  /** False once one failed, or said nothing. */
  #mayCompact = true;

  constructor(options: SummariesOptions) {
    this.#options = options;
  }

  /** Summarises older turns where the model would be shown too much. Without a summary it is shown all there is. */
  async makeRoom(): Promise<void> {
    const { turn, conversation, calls } = this.#options;
    if (!this.#mayCompact || conversation.past.messages.length === 0) return;
    const summarise = (request: SummaryRequest) => this.#summarise(request);
    conversation.showPast(await repeatSummaries(conversation.past, this.#listRecorded(), summarise));
    if (!this.#mayCompact || calls.count < (turn.recordedCalls ?? []).length) return;
    conversation.showPast(
      await compact(conversation.past, {
        limit: compactionLimit(turn.agent.context),
        size: estimateTokens([...conversation.messages, ...turn.toolset.model]),
        summarise,
      }),
    );
  }

  /** The summaries that are recorded before the next call that is none. */
  #listRecorded(): SummaryPlace[] {
    const { turn, calls } = this.#options;
    const left = (turn.recordedCalls ?? []).slice(calls.count).map(({ summary }) => summary);
    const end = left.indexOf(undefined);
    return (end < 0 ? left : left.slice(0, end)).filter((place) => place !== undefined);
  }

  async #summarise({ messages, count, upTo }: SummaryRequest): Promise<string | undefined> {
    const { turn, calls, replyOptions } = this.#options;
    const { model } = turn.input;
    try {
      const { content } = await calls.call({
        stepId: COMPACT,
        name: COMPACT,
        recorded: { model, count, upTo },
        request: { model, messages, tools: [], parameters: {}, ...callLimits(this.#options.turn.agent) },
        reply: { ...replyOptions(), emit: () => {}, isSummary: true },
        notifiesShutdown: true,
      });
      this.#mayCompact = content !== '';
      return content;
    } catch {
      // The step says why. The turn itself may still fit.
      this.#mayCompact = false;
      return undefined;
    }
  }
}
