import type { ModelReply } from '../agents/model/read-reply.ts';
import type { CallModel } from '../agents/model/client.ts';
import type { CallEmbeddings } from '../agents/model/embeddings.ts';
import type { CallRerank } from '../agents/model/rerank.ts';
import type { ChatMessage } from '../agents/model/messages.ts';
import type { ReplyOptions } from '../agents/model/reply.ts';
import { addUsage, toTokens } from '../agents/events/usage.ts';
import { NO_USAGE } from '../agents/events/turn-events.ts';
import type { Usage } from '../agents/events/turn-events.ts';
import { estimateTokens } from '../agents/turn/context-size.ts';
import { toSpent } from '../agents/turn/model-calls.ts';
import { toRepair } from '../agents/turn/output.ts';
import { splitName } from '../definitions/subagents.ts';
import { chargedTo, pinnedModel } from '../engine/box-marks.ts';
import type { RunRow, Spent } from '../engine/journal/run.ts';
import type { Ambient } from '../engine/handle.ts';
import type {
  AnswerRule,
  ChatReply,
  EmbedReply,
  ModelCaller,
  RerankAsked,
  RerankReply,
} from '../engine/model-calls.ts';
import { BoxError } from '../errors.ts';
import { costOf } from '../limits/prices.ts';
import type { ModelPrices } from '../limits/prices.ts';
import type { Limiter, PlannedSize } from '../limits/limiter.ts';
import { whoOfAgent } from '../limits/limits.ts';
import { createPartObserver } from './part-calls.ts';
import type { PartCall } from './part-calls.ts';

/** Single calls of models, for code in a run. What they throw is not to be repeated by a step: they have been. */
export interface Ai extends Pick<Ambient, 'chat' | 'embed'> {
  /** Texts by how relevant they are to a query. */
  rerank(asked: RerankAsked, caller: ModelCaller): Promise<RerankReply>;
}

export interface AiOptions {
  callModel: CallModel;
  callEmbeddings: CallEmbeddings;
  callRerank: CallRerank;
  /** The model of the workspace. */
  defaultModel(): Promise<string | undefined>;
  embeddingModel(): string | undefined;
  limiter: Pick<Limiter, 'reserve' | 'unrecorded'>;
  /** What the model's calls cost. Default: they have no price. */
  prices?(): ModelPrices;
  /** Of a call that has no record to be seen by. Returns at once, and never throws. */
  onPart(call: PartCall): void;
}

export function createAi(options: AiOptions): Ai {
  const { callModel, callEmbeddings, callRerank, defaultModel, embeddingModel, limiter, prices = () => ({}) } = options;
  const observe = createPartObserver(options.onPart);
  let calls = 0;
  /**
   * Throws `budget_exceeded`. What the call is taken to use counts while it is under way, and what it uses at once,
   * however long its step goes on.
   */
  const admitted = async <T>(
    caller: ModelCaller,
    size: () => PlannedSize,
    work: (caller: ModelCaller) => Promise<T>,
  ): Promise<T> => {
    const { runId } = caller.run;
    const who = whoOf(caller.run);
    const release = await limiter.reserve(who, { id: `${runId} ${calls++}`, size });
    const spend: ModelCaller['spend'] = (tokens) => {
      release();
      limiter.unrecorded.add(runId, who, tokens.totalTokens);
      caller.spend(tokens);
    };
    try {
      return await work({ ...caller, spend });
    } finally {
      release();
    }
  };
  const toSpentInput = (model: string, inputTokens: number): Spent => {
    const tokens = toTokens({ ...NO_USAGE, inputTokens });
    const cost = costOf(prices(), model, tokens);
    return { ...tokens, ...(cost === undefined ? {} : { cost }) };
  };
  return {
    chat: (asked, caller, rule) =>
      onceOnly(async () => {
        const model = asked.model ?? pinnedModel(caller.run) ?? (await defaultModel()) ?? notSelected(CHAT_ADVICE);
        const { timeout, maxRetries, fallbackModels } = asked;
        const messages = asked.messages as readonly ChatMessage[];
        const chat = async (observed: ModelCaller): Promise<ChatReply> => {
          const ask = async (said: readonly ChatMessage[]): Promise<ModelReply> => {
            const request = {
              model,
              messages: [...said],
              tools: [],
              parameters: asked.parameters,
              ...(rule ? { outputSchema: rule.schema } : {}),
              ...(timeout === undefined ? {} : { timeout }),
              ...(maxRetries === undefined ? {} : { maxRetries }),
              ...(fallbackModels === undefined ? {} : { fallbackModels }),
            };
            const reply = await callModel(request, toReplyOptions(observed, rule), observed.signal);
            observed.spend(toSpent(reply));
            return reply;
          };
          return rule ? askFitting(messages, { model, rule, ask }) : toChatReply(model, await ask(messages));
        };
        return admitted(
          caller,
          () => sizeOf(messages, asked.parameters),
          (charged) => observe({ operation: 'chat', model, messages }, charged, chat),
        );
      }),
    embed: (asked, caller) =>
      onceOnly(async () => {
        const model = asked.model ?? embeddingModel() ?? notSelected(EMBED_ADVICE);
        const embed = async ({ signal, spend }: ModelCaller): Promise<EmbedReply> => {
          const onTokens = (inputTokens: number) => spend(toSpentInput(model, inputTokens));
          const embedded = await callEmbeddings({ ...asked, model }, { signal, onTokens });
          const { vectors, inputTokens, model: answeredBy = model } = embedded;
          return { vectors, usage: toModelUsage({ ...NO_USAGE, inputTokens }), asked: model, model: answeredBy };
        };
        return admitted(
          caller,
          () => sizeOfTexts(asked.input),
          (charged) => observe({ operation: 'embeddings', model, messages: [] }, charged, embed),
        );
      }),
    rerank: (asked, caller) =>
      onceOnly(async () => {
        const { model, query, documents } = asked;
        const rerank = async ({ signal, spend }: ModelCaller): Promise<RerankReply> => {
          const { ranking, inputTokens, model: answeredBy = model } = await callRerank(asked, { signal });
          const used = { ...NO_USAGE, inputTokens };
          spend(toSpentInput(model, inputTokens));
          return { ranking, usage: toModelUsage(used), asked: model, model: answeredBy };
        };
        return admitted(
          caller,
          () => sizeOfTexts([query, ...documents]),
          (charged) => observe({ operation: 'rerank', model, messages: [] }, charged, rerank),
        );
      }),
  };
}

// --- internal ---

const CHAT_ADVICE = 'Name one: svc.ai.chat({ model, … }), or set "model" in svc.config.ts.';
const EMBED_ADVICE = 'Name one: svc.ai.embed({ model, … }), or set "embeddingModel" in svc.config.ts.';

function notSelected(advice: string): never {
  throw new BoxError('model_not_selected', `No model is selected for this call. ${advice}`);
}

/** The client of the provider has repeated what may pass: the retries of a step would multiply that. */
async function onceOnly<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof BoxError ? Object.assign(error, { fatal: true }) : error;
  }
}

function sizeOf(messages: readonly ChatMessage[], { max_tokens: most }: Record<string, unknown>): PlannedSize {
  const atLeast = estimateTokens(messages);
  return { atLeast, ...(typeof most === 'number' ? { atMost: atLeast + most } : {}) };
}

function sizeOfTexts(texts: readonly string[]): PlannedSize {
  const tokens = estimateTokens(texts.map((content) => ({ role: 'user', content })));
  return { atLeast: tokens, atMost: tokens };
}

/** Whose budgets the tokens of a run come from. */
function whoOf(run: RunRow): string[] {
  return [...(run.kind === 'agent' ? [whoOfAgent(splitName(run.name).agent)] : []), ...chargedTo(run)];
}

interface Fitting {
  model: string;
  rule: AnswerRule;
  ask(messages: readonly ChatMessage[]): Promise<ModelReply>;
}

/** An answer by the rule. One that does not fit is asked for again, once, with what is wrong with it. */
async function askFitting(messages: readonly ChatMessage[], { model, rule, ask }: Fitting): Promise<ChatReply> {
  const first = await ask(messages);
  const checked = await rule.check(first.content);
  if (checked.ok) return toChatReply(model, { ...first, content: checked.text });
  const repair: ChatMessage[] = [
    { role: 'assistant', content: first.content },
    { role: 'user', content: toRepair(checked.issues) },
  ];
  const second = await ask([...messages, ...repair]);
  const again = await rule.check(second.content);
  if (again.ok)
    return toChatReply(model, { ...second, content: again.text, usage: addUsage(first.usage, second.usage) });
  throw new BoxError(
    'model_output_invalid',
    `The answer of the model "${model}" does not fit its schema, also when asked again. ${again.issues}`,
  );
}

function toChatReply(
  asked: string,
  { content, reasoning, finishReason, usage, model, fallback }: ModelReply,
): ChatReply {
  const last = fallback ?? asked;
  return { content, reasoning, finishReason, usage: toModelUsage(usage), asked: last, model: model ?? last };
}

function toModelUsage(usage: Usage) {
  return { ...toTokens(usage), reasoningTokens: usage.reasoningTokens };
}

/** Text that may yet be refused by the rule is not passed on: it could not be taken back. */
function toReplyOptions({ onText }: ModelCaller, rule: AnswerRule | undefined): ReplyOptions {
  return {
    emit: (event) => event.type === 'text.delta' && !rule && onText?.(event.text),
    messageId: 'answer',
    executorOf: () => 'client',
    uniqueId: (id) => id,
  };
}
