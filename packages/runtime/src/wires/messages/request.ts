import type { ChatMessage } from '../../agents/model/messages.ts';
import { pairToolCalls } from '../../agents/model/messages.ts';
import type { ClientTool } from '../../agents/turn/input.ts';
import { BoxError } from '../../errors.ts';
import { toBlocks, toChatMessages, toText } from './content.ts';
import type { WireMessage } from './content.ts';
import { toHints } from './effort.ts';
import { toMessageTools, toToolChoice } from './tools.ts';
import { checkParameterTypes } from '../parameter-types.ts';
import type { ParameterTypes } from '../parameter-types.ts';
import { listIgnored } from '../ignored.ts';
import { checkCounts } from '../request.ts';
import { newestOf } from '../session.ts';

/** A request in the messages format, checked. Members that are not named here are accepted, and listed as ignored. */
export interface MessagesRequest {
  model: string;
  messages: ChatMessage[];
  tools: ClientTool[];
  /** The client brought tools, of whatever kind, so it runs what it is shown. */
  hasTools: boolean;
  parameters: Record<string, unknown>;
  hints: Record<string, unknown> | undefined;
  isStream: boolean;
  ignored: string[];
  /** An estimate. */
  inputTokens: number;
}

export interface ReadOptions {
  /** The box has the conversation: what it was sent before is not taken again. */
  keepsHistory: boolean;
  /** False: its tokens are counted, and nothing else. */
  isAnswered: boolean;
}

export function toMessagesRequest(value: unknown, { keepsHistory, isAnswered }: ReadOptions): MessagesRequest {
  const body = toObject(value);
  const { model, system, tools, max_tokens: maxTokens, thread = null } = body;
  if (typeof model !== 'string' || model === '') throw invalid('model', '"model" must be the name of an agent.');
  if (isAnswered && !(Number.isInteger(maxTokens) && (maxTokens as number) >= 1))
    throw invalid('max_tokens', '"max_tokens" is required, and must be a whole number of at least 1.');
  checkParameterTypes(body, TYPES);
  if (thread !== null) throw threadUnsupported();
  checkCounts(body);
  const all = checkMessages(body.messages);
  const given = keepsHistory ? newestOf(all) : all;
  const said = joinAnswers(given).flatMap(({ message, param }) => toChatMessages(message, param));
  const asked = keepsHistory ? said : pairToolCalls(said);
  if (isAnswered && asked.every(({ role }) => role === 'system'))
    throw invalid('messages', '"messages" holds nothing to answer.');
  const first = system === undefined || system === null ? '' : toText(toBlocks(system, 'system'));
  return {
    model,
    messages: first === '' ? said : [{ role: 'system', content: first }, ...said],
    tools: toMessageTools(tools),
    hasTools: Array.isArray(tools) && tools.length > 0,
    parameters: toParameters(body),
    hints: toHints(body),
    isStream: body.stream === true,
    ignored: [...listIgnored(body, KNOWN), ...listIgnoredOfOutput(body)],
    inputTokens: estimateTokens([system, body.messages, tools]),
  };
}

// --- internal ---

type Body = Record<string, unknown>;

/** Members the provider takes under the same name. */
const SAME_NAME = ['max_tokens', 'temperature', 'top_p', 'top_k'];
const TYPES: ParameterTypes = { stream: 'boolean', temperature: 'number', top_p: 'number', top_k: 'integer' };
const KNOWN: ReadonlySet<string> = new Set([
  ...SAME_NAME,
  'model',
  'messages',
  'system',
  'tools',
  'tool_choice',
  'stream',
  'stop_sequences',
  'thread',
  'thinking',
  'output_config',
  'output_format',
]);
const KNOWN_OF_OUTPUT: ReadonlySet<string> = new Set(['effort', 'format']);
const ROLES = new Set(['user', 'assistant', 'system']);
const CHARACTERS_PER_TOKEN = 4;
const TOKENS_PER_FILE = 1_600;

function toObject(value: unknown): Body {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Body;
  throw new BoxError('invalid_request', 'The body must be a JSON object.');
}

interface GivenMessage {
  role: string;
  message: WireMessage;
  param: string;
}

/** Each with the role on top, so that the newest are found before anything is converted. */
function checkMessages(value: unknown): GivenMessage[] {
  if (!Array.isArray(value) || value.length === 0)
    throw invalid('messages', '"messages" must be an array with at least one message.');
  return value.map((given: unknown, index) => {
    const { role, content } = (given ?? {}) as { role?: unknown; content?: unknown };
    if (typeof role !== 'string' || !ROLES.has(role))
      throw invalid(
        `messages[${index}].role`,
        `"messages[${index}].role" is ${JSON.stringify(role)}; it must be one of ${[...ROLES].join(', ')}.`,
      );
    const param = `messages[${index}].content`;
    return { role, message: { role: role as WireMessage['role'], content: toBlocks(content, param) }, param };
  });
}

/** An answer that comes back in several messages is one: the results of its calls stand behind all of them. */
function joinAnswers(given: readonly GivenMessage[]): GivenMessage[] {
  const joined: GivenMessage[] = [];
  for (const one of given) {
    const before = joined.at(-1);
    const { role, content } = one.message;
    if (one.role !== 'assistant' || before?.role !== 'assistant')
      joined.push({ ...one, message: { role, content: [...content] } });
    else for (const block of content) before.message.content.push(block);
  }
  return joined;
}

function toParameters(body: Body): Record<string, unknown> {
  const { stop_sequences: stop, output_config: config, output_format: plain, tool_choice: choice } = body;
  const { format = plain } = (config ?? {}) as { format?: unknown };
  const { type, schema } = (format ?? {}) as { type?: unknown; schema?: unknown };
  if (!isNothing(stop) && !(Array.isArray(stop) && stop.every((one) => typeof one === 'string')))
    throw invalid('stop_sequences', '"stop_sequences" must be a list of texts.');
  if (!isNothing(format) && type !== 'json_schema')
    throw invalid('output_config.format', '"output_config.format" must be {type: "json_schema", schema}.');
  return {
    ...Object.fromEntries(SAME_NAME.filter((name) => body[name] != null).map((name) => [name, body[name]])),
    ...(Array.isArray(stop) && stop.length > 0 ? { stop } : {}),
    ...toToolChoice(choice),
    ...(type === 'json_schema'
      ? { response_format: { type, json_schema: { name: 'answer', schema, strict: true } } }
      : {}),
  };
}

/** `output_config` has members that are heeded. */
function listIgnoredOfOutput({ output_config: config }: Body): string[] {
  return typeof config === 'object' && config !== null ? listIgnored(config, KNOWN_OF_OUTPUT, 'output_config.') : [];
}

function isNothing(value: unknown): boolean {
  return value === undefined || value === null;
}

/** Four characters are about a token; the bytes of a file are counted as one large image. */
function estimateTokens(value: unknown): number {
  let files = 0;
  const text = JSON.stringify(value, (key, member: unknown) => {
    const isFile = key === 'source' && (member as { type?: unknown } | null)?.type === 'base64';
    if (isFile) files += 1;
    return isFile ? null : member;
  });
  return Math.ceil(text.length / CHARACTERS_PER_TOKEN) + files * TOKENS_PER_FILE;
}

/** A client that reads this code sends the whole conversation instead. Ignored, it would leave out all but the newest turn. */
function threadUnsupported(): BoxError {
  return new BoxError(
    'thread_unsupported_request',
    'This box keeps no threads. Send all messages, or name the conversation in the header "x-svc-session".',
    { details: { param: 'thread', unsupported: ['thread'] } },
  );
}

function invalid(param: string, message: string): BoxError {
  return new BoxError('invalid_request', message, { details: { param } });
}
