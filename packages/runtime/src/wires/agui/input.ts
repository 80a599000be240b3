import { z } from 'zod';
import { BoxError } from '../../errors.ts';
import { parseWith } from '../../schema/schema.ts';
import { checkCounts } from '../request.ts';
import { isStorable } from '../../agents/turn/storable.ts';

/** A part of a message that is not text alone. */
const Source = z.discriminatedUnion('type', [
  z.object({ type: z.literal('data'), value: z.string(), mimeType: z.string() }),
  z.object({ type: z.literal('url'), value: z.string(), mimeType: z.string().optional() }),
  z.object({ type: z.literal('file'), value: z.string(), mimeType: z.string().optional() }),
]);
export type AguiSource = z.infer<typeof Source>;

const Part = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), text: z.string() }),
  z.object({ type: z.literal('image'), source: Source }),
  z.object({ type: z.literal('audio'), source: Source }),
  z.object({ type: z.literal('video'), source: Source }),
  z.object({ type: z.literal('document'), source: Source }),
]);
export type AguiPart = z.infer<typeof Part>;

const Content = z.union([z.string(), z.array(Part)]);
export type AguiContent = z.infer<typeof Content>;

const ToolCall = z.object({
  id: z.string(),
  type: z.literal('function'),
  function: z.object({ name: z.string(), arguments: z.string() }),
});

/** Messages are found again by their ids, so those are kept as they came. */
const id = z.string().max(512).refine(isStorable, 'holds U+0000, or half of a surrogate pair');

export const AguiMessage = z.discriminatedUnion('role', [
  z.object({ id, role: z.enum(['system', 'developer']), content: z.string(), name: z.string().optional() }),
  z.object({ id, role: z.literal('user'), content: Content, name: z.string().optional() }),
  z.object({
    id,
    role: z.literal('assistant'),
    content: z.string().optional(),
    toolCalls: z.array(ToolCall).optional(),
  }),
  z.object({ id, role: z.literal('tool'), content: Content, toolCallId: z.string(), error: z.string().optional() }),
  // What the box sent of its own comes back so; it is not handed on.
  z.object({ id, role: z.literal('reasoning'), content: z.string() }),
  z.object({ id, role: z.literal('activity'), activityType: z.string(), content: z.record(z.string(), z.unknown()) }),
]);
export type AguiMessage = z.infer<typeof AguiMessage>;

const ResumeEntry = z.object({
  interruptId: z.string(),
  status: z.enum(['resolved', 'cancelled']),
  payload: z
    .unknown()
    .refine((payload) => payload !== null, 'null is no payload: leave it out')
    .optional(),
});
export type ResumeEntry = z.infer<typeof ResumeEntry>;

/** A request to run an agent. What the protocol does not know is ignored. */
export const RunAgentInput = z.object({
  threadId: z.string().min(1).max(256),
  runId: z.string().min(1),
  protocolVersion: z.string().optional(),
  parentRunId: z.string().optional(),
  state: z.unknown().optional(),
  messages: z.array(AguiMessage),
  tools: z
    .array(
      z.object({
        name: z.string().min(1),
        description: z.string(),
        parameters: z.record(z.string(), z.unknown()).default({ type: 'object', properties: {} }),
      }),
    )
    .default([]),
  context: z.array(z.object({ description: z.string(), value: z.string() })).default([]),
  forwardedProps: z
    .unknown()
    .optional()
    .describe(
      'Parameters of the model, as chat completions name them; `svc.prompts` has versions by the ids of prompts, for who may write these',
    ),
  resume: z.array(ResumeEntry).default([]),
});
export type RunAgentInput = z.infer<typeof RunAgentInput>;

/** Throws `invalid_request` with what is malformed. */
export async function parseRunInput(body: unknown): Promise<RunAgentInput> {
  checkCounts(body);
  const parsed = await parseWith(RunAgentInput, body);
  if (parsed.ok) return parsed.value as RunAgentInput;
  const [first] = parsed.issues;
  throw new BoxError(
    'invalid_request',
    `The body is no RunAgentInput. ${first?.path.join('.') || 'The whole of it'}: ${first?.message}.`,
    { details: { issues: parsed.issues } },
  );
}
