import type { ChatMessage } from '../agents/model/messages.ts';
import type { ModelReply } from '../agents/model/read-reply.ts';
import type { RunRow, Tokens } from '../engine/journal/run.ts';
import type { Mask } from '../mask.ts';
import { contentOfModel } from './content.ts';
import { agentOf } from './model-call.ts';
import { GEN_AI, SERVER_ADDRESS, SERVER_PORT } from './names.ts';
import type { ProviderFacts } from './provider-name.ts';
import { usageOf } from './run-span.ts';
import type { SpanData } from './span.ts';

/** One call of a model, wherever it was made. */
export interface ModelCallFacts {
  run: RunRow;
  operation: 'chat' | 'embeddings' | 'rerank';
  /** The model that was asked. */
  model: string;
  messages: readonly ChatMessage[];
  reply: Partial<ModelReply> | undefined;
  tokens?: Tokens | null | undefined;
}

export interface ModelSpanOptions {
  provider: ProviderFacts;
  mask: Mask;
  capturesContent: boolean;
}

/** What its span is named, and says by the conventions. */
export function describeModelCall(
  { run, operation, model, messages, reply = {}, tokens }: ModelCallFacts,
  { provider, mask, capturesContent }: ModelSpanOptions,
): Pick<SpanData, 'name' | 'kind' | 'attributes'> {
  const agent = agentOf(run);
  const { finishReason, model: answeredBy } = reply;
  return {
    name: `${operation} ${model}`,
    kind: 'client',
    attributes: {
      [GEN_AI.operation]: operation,
      [GEN_AI.provider]: provider.name,
      [GEN_AI.requestModel]: model,
      [GEN_AI.responseModel]: answeredBy ?? model,
      ...(agent === undefined ? {} : { [GEN_AI.agent]: agent }),
      ...(finishReason === undefined ? {} : { [GEN_AI.finishReasons]: [finishReason] }),
      ...(provider.address === undefined ? {} : { [SERVER_ADDRESS]: provider.address }),
      ...(provider.port === undefined ? {} : { [SERVER_PORT]: provider.port }),
      ...(tokens ? usageOf(tokens) : {}),
      ...(capturesContent && operation === 'chat' ? contentOfModel(messages, reply, mask) : {}),
    },
  };
}
