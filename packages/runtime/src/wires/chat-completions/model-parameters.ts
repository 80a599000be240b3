import { BoxError } from '../../errors.ts';
import { listIgnored } from '../ignored.ts';
import { checkParameterTypes } from '../parameter-types.ts';
import type { ParameterTypes } from '../parameter-types.ts';

/**
 * The members of a request that are handed to the provider; those of the wire itself and unknown ones are not. Null is as good
 * as left out. Throws `invalid_request` with the name of one that is of another type.
 */
export function toModelParameters(request: object): Record<string, unknown> {
  checkParameterTypes(request, PARAMETER_TYPES);
  return Object.fromEntries(
    Object.entries(request).filter(([key, value]) => value !== null && MODEL_PARAMETERS.has(key)),
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

const { stream: _stream, n: _n, ...PARAMETER_TYPES } = COMPLETION_TYPES;

/** Throws `invalid_request` with the name of the first member that the box can neither apply nor ignore. */
export function checkHeeded(request: object): void {
  const given = request as Record<string, unknown>;
  for (const [name, advice] of Object.entries(REFUSED))
    if (given[name] !== undefined && given[name] !== null)
      throw new BoxError('invalid_request', `"${name}" is not supported. ${advice}`, { details: { param: name } });
  checkStreamOptions(given['stream_options']);
  const { modalities } = given;
  if (Array.isArray(modalities) && modalities.some((one) => one !== 'text'))
    throw new BoxError('invalid_request', '"modalities" must be ["text"]: an agent answers in text.', {
      details: { param: 'modalities' },
    });
}

/** What of a request has no effect, by name. */
export function listIgnoredMembers(request: object): string[] {
  const { stream_options: options } = request as { stream_options?: unknown };
  const nested =
    typeof options === 'object' && options !== null ? listIgnored(options, KNOWN_OF_STREAMS, 'stream_options.') : [];
  return [...listIgnored(request, KNOWN), ...nested];
}

// --- internal ---

/** Silently, a client that counts by the last chunk would see nothing. */
function checkStreamOptions(options: unknown): void {
  if (options === undefined || options === null) return;
  if (typeof options !== 'object' || Array.isArray(options))
    throw new BoxError('invalid_request', '"stream_options" must be an object.', {
      details: { param: 'stream_options' },
    });
  const { include_usage: isAsked = null } = options as { include_usage?: unknown };
  if (isAsked === null || typeof isAsked === 'boolean') return;
  throw new BoxError('invalid_request', '"stream_options.include_usage" must be true or false.', {
    details: { param: 'stream_options.include_usage' },
  });
}

const MODEL_PARAMETERS: ReadonlySet<string> = new Set([
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
  'prompt_cache_retention',
  'prediction',
  'safety_identifier',
]);
const KNOWN: ReadonlySet<string> = new Set([
  ...MODEL_PARAMETERS,
  'model',
  'messages',
  'stream',
  'stream_options',
  'tools',
  'n',
  'modalities',
]);
const KNOWN_OF_STREAMS: ReadonlySet<string> = new Set(['include_usage']);
/** What would make the answer another one than was asked for, and what takes its place. */
const REFUSED: Readonly<Record<string, string>> = {
  functions: 'Declare them as "tools" of the type "function".',
  function_call: 'Say "tool_choice".',
  audio: 'An agent answers in text.',
};
