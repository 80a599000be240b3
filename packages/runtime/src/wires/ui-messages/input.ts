import { z } from 'zod';
import { checkCounts } from '../request.ts';
import { isStorable } from '../../agents/turn/storable.ts';
import { BoxError } from '../../errors.ts';
import { parseWith } from '../../schema/schema.ts';

const name = z.string().min(1).max(256).refine(isStorable, 'holds U+0000, or half of a surrogate pair');

/** Where a part stands in the thread, as the box has sent it. */
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
  type: z.custom<`tool-${string}` | 'dynamic-tool'>(
    (type) => typeof type === 'string' && (type.startsWith('tool-') || type === 'dynamic-tool'),
  ),
  toolName: z.string().optional(),
  toolCallId: z.string().max(4_096),
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
  return part.type.startsWith('tool-') || part.type === 'dynamic-tool';
}

// --- internal ---

/** The first part that is none. The schema would say of each why it is none of four kinds, which takes long for many. */
function checkParts(body: unknown): void {
  const { messages } = (body ?? {}) as { messages?: unknown };
  for (const [at, message] of Array.isArray(messages) ? messages.entries() : []) {
    const { parts } = (message ?? {}) as { parts?: unknown };
    const wrong = Array.isArray(parts) ? parts.findIndex((part) => !isPart(part)) : -1;
    if (wrong !== -1)
      throw new BoxError('invalid_request', `"messages[${at}].parts[${wrong}]" must be a part with a "type".`, {
        details: { param: `messages[${at}].parts[${wrong}]` },
      });
  }
}

function isPart(part: unknown): boolean {
  return typeof (part as { type?: unknown } | null)?.type === 'string';
}
