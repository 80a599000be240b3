import { z } from 'zod';
import { checkCounts } from '../request.ts';
import { isStorable } from '../../agents/turn/storable.ts';
import { BoxError } from '../../errors.ts';
import { parseWith } from '../../schema/schema.ts';

const MOST_CALL_ID = 4_096;

const name = z.string().min(1).max(256).refine(isStorable, 'holds U+0000, or half of a surrogate pair');

/** Where a part is in the thread, as the box has sent it. */
const Metadata = z.looseObject({ svc: z.looseObject({ messageId: z.string().optional() }).optional() });

const Text = z.looseObject({
  type: z.literal('text'),
  text: z.string(),
  providerMetadata: Metadata.optional().catch(undefined),
});
const File = z.looseObject({
  type: z.literal('file'),
  mediaType: z.string(),
  url: z.string(),
  filename: z.string().optional(),
});
const Call = z.looseObject({
  type: z.custom<`tool-${string}` | 'dynamic-tool'>((type) => typeof type === 'string' && isCallType(type)),
  toolName: z.string().optional(),
  toolCallId: z.string().max(MOST_CALL_ID),
  state: z.string(),
  input: z.unknown(),
  output: z.unknown(),
  errorText: z.string().optional(),
  approval: z
    .looseObject({ id: z.string(), approved: z.boolean().optional(), reason: z.string().optional() })
    .optional(),
  callProviderMetadata: Metadata.optional().catch(undefined),
});
export type UiCallPart = z.infer<typeof Call>;
/** What is shown and not said: where a step begins, what was thought, data, sources. */
const Other = z.looseObject({ type: z.string() });

const UiPart = z.union([Text, File, Call, Other]);
export type UiPart = z.infer<typeof UiPart>;

const UiMessage = z.looseObject({
  id: name,
  role: z.enum(['system', 'user', 'assistant']),
  parts: z.array(UiPart),
});
export type UiMessage = z.infer<typeof UiMessage>;

/** What the transport of `useChat` sends. Members that are not here are model parameters, or ignored. */
export const UiRequest = z.looseObject({
  id: name.describe('The chat: the name of the session'),
  messages: z.array(UiMessage),
  trigger: z.enum(['submit-message', 'regenerate-message']).default('submit-message'),
  messageId: z.string().nullish(),
  tools: z
    .array(
      z.object({
        name: z.string().min(1),
        description: z.string().default(''),
        parameters: z.record(z.string(), z.unknown()).default({ type: 'object', properties: {} }),
      }),
    )
    .default([])
    .describe('Tools the client runs itself'),
});
export type UiRequest = z.infer<typeof UiRequest>;

/** Throws `invalid_request` with what is malformed. */
export async function parseUiRequest(body: unknown): Promise<UiRequest> {
  checkCounts(body);
  checkParts(body);
  const parsed = await parseWith(UiRequest, body);
  if (parsed.ok) return parsed.value as UiRequest;
  const [first] = parsed.issues;
  throw new BoxError(
    'invalid_request',
    `The body is no request of a UI message stream. ${first?.path.join('.') || 'The whole of it'}: ${first?.message}.`,
    { details: { issues: parsed.issues } },
  );
}

export function isText(part: UiPart): part is z.infer<typeof Text> {
  return part.type === 'text';
}

export function isFile(part: UiPart): part is z.infer<typeof File> {
  return part.type === 'file';
}

export function isCall(part: UiPart): part is UiCallPart {
  return isCallType(part.type);
}

// --- internal ---

/** The first part that is none. The schema would say of each why it is none of four kinds, which takes long for many. */
function checkParts(body: unknown): void {
  const { messages } = (body ?? {}) as { messages?: unknown };
  for (const [at, message] of Array.isArray(messages) ? messages.entries() : []) {
    const { parts } = (message ?? {}) as { parts?: unknown };
    const wrong = Array.isArray(parts) ? parts.findIndex((part) => !isPart(part)) : -1;
    if (wrong !== -1)
      throw new BoxError(
        'invalid_request',
        `"messages[${at}].parts[${wrong}]" must be a part with a "type", and with what such a part has.`,
        { details: { param: `messages[${at}].parts[${wrong}]` } },
      );
  }
}

/** One of a kind that is read must be whole: read halfway, it might say what its client has not said. */
function isPart(part: unknown): boolean {
  if (typeof part !== 'object' || part === null) return false;
  const { type, text, mediaType, url, filename, toolCallId, toolName, state, errorText, approval } = part as Record<
    string,
    unknown
  >;
  if (typeof type !== 'string') return false;
  if (type === 'text') return typeof text === 'string';
  if (type === 'file') return typeof mediaType === 'string' && typeof url === 'string' && isTextOr(filename);
  if (!isCallType(type)) return true;
  const isId = typeof toolCallId === 'string' && toolCallId.length <= MOST_CALL_ID;
  return isId && typeof state === 'string' && isTextOr(toolName) && isTextOr(errorText) && isApproval(approval);
}

function isApproval(given: unknown): boolean {
  if (given === undefined) return true;
  const { id, approved, reason } = (given ?? {}) as Record<string, unknown>;
  return typeof id === 'string' && (approved === undefined || typeof approved === 'boolean') && isTextOr(reason);
}

function isTextOr(value: unknown): boolean {
  return value === undefined || typeof value === 'string';
}

function isCallType(type: string): boolean {
  return type.startsWith('tool-') || type === 'dynamic-tool';
}
