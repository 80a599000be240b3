import type { ParameterTypes } from '../parameter-types.ts';

/** The members of a request that are handed to the provider; those of the wire itself and unknown ones are not. Null is as good as left out. */
export function toModelParameters(request: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(request).filter(([key, value]) => value !== null && MODEL_PARAMETERS.includes(key)),
  );
}

/** What the members with one type are, those of the wire itself too. */
export const COMPLETION_TYPES: ParameterTypes = {
  stream: 'boolean',
  n: 'integer',
  temperature: 'number',
  top_p: 'number',
  top_k: 'integer',
  min_p: 'number',
  seed: 'integer',
  max_tokens: 'integer',
  max_completion_tokens: 'integer',
  presence_penalty: 'number',
  frequency_penalty: 'number',
  repetition_penalty: 'number',
  logprobs: 'boolean',
  top_logprobs: 'integer',
  parallel_tool_calls: 'boolean',
};

// --- internal ---

const MODEL_PARAMETERS = [
  'temperature',
  'top_p',
  'top_k',
  'min_p',
  'seed',
  'stop',
  'max_tokens',
  'max_completion_tokens',
  'presence_penalty',
  'frequency_penalty',
  'repetition_penalty',
  'logit_bias',
  'logprobs',
  'top_logprobs',
  'response_format',
  'tool_choice',
  'parallel_tool_calls',
  'service_tier',
  'reasoning_effort',
  'reasoning',
  'verbosity',
  'prompt_cache_key',
  'safety_identifier',
];
