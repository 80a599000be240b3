import type { AskModel } from '../../guardrails/checks/whole.ts';
import { BoxError } from '../../errors.ts';
import type { CallModel } from './client.ts';

export interface AskGuardrailModelOptions {
  /** Asked for each question: it is made of what guardrails are a part of. */
  callModel(): CallModel;
  defaultModel(): Promise<string | undefined>;
}

/** Asks the provider what a guardrail wants to know of a text. No rule judges what it answers. */
export function createAskGuardrailModel({ callModel, defaultModel }: AskGuardrailModelOptions): AskModel {
  return async ({ instructions, text, schema, timeout, model = undefined }, signal) => {
    const chosen = model ?? (await defaultModel());
    if (chosen === undefined) throw new BoxError('model_not_selected', 'No model is selected for guardrails.');
    const request = {
      model: chosen,
      messages: [
        { role: 'system' as const, content: instructions },
        { role: 'user' as const, content: text },
      ],
      tools: [],
      parameters: { temperature: 0 },
      outputSchema: schema,
      timeout,
      maxRetries: 1,
    };
    const { content } = await callModel()(request, SILENT, signal);
    return content;
  };
}

// --- internal ---

/** No one reads along. */
const SILENT = { emit() {}, messageId: 'verdict', executorOf: () => 'client' as const, uniqueId: (id: string) => id };
