import type { Answer } from '../../agents/threads/answers.ts';
import { isSilent } from '../../agents/threads/view.ts';
import type { SentMessage } from '../../agents/threads/view.ts';
import { resultIdOf } from '../../agents/turn/ids.ts';
import type { ConversationMessage } from '../../agents/turn/input.ts';
import { toAguiContent, toProviderContent, toText } from '../agui/content.ts';
import type { AguiPart } from '../agui/input.ts';
import type { PartMetadata } from './chunk.ts';
import { isCall, isFile, isText } from './input.ts';
import type { UiCallPart, UiMessage, UiPart } from './input.ts';

/** The messages of a request, as threads have them: an answer of the agent is one for each of its steps, and its results. */
export function toSentMessages(messages: readonly UiMessage[]): SentMessage[] {
  return messages.flatMap(({ id, role, parts }): SentMessage[] => {
    if (role === 'system') return [{ id }];
    if (role === 'user') return [{ id, message: { id, role, content: toContent(parts) } }];
    return toSteps(parts).flatMap((step, index) => toStepMessages(step, idOfStep(id, step, index)));
  });
}

/** What the system texts of a request say. */
export function toSystemTexts(messages: readonly UiMessage[]): string[] {
  return messages.flatMap(({ role, parts }) => (role === 'system' ? [textIn(parts)] : []));
}

/** What the client says to calls that wait. */
export function toAnswers(messages: readonly UiMessage[]): Answer[] {
  return messages.flatMap(({ role, parts }) =>
    role === 'assistant'
      ? parts.filter(isCall).flatMap(({ state, approval }): Answer[] => {
          if (state !== 'approval-responded' || !approval) return [];
          const { id: approvalId, approved, reason } = approval;
          const note = reason === undefined ? {} : { note: reason.slice(0, LONGEST_NOTE) };
          return [{ approvalId, toDecision: () => ({ decision: approved === true ? 'approve' : 'reject', ...note }) }];
        })
      : [],
  );
}

/** The messages a thread has, as a client keeps them. */
export function toUiMessages(messages: readonly ConversationMessage[]): UiMessage[] {
  const shown: UiMessage[] = [];
  const calls = new Map<string, UiCallPart>();
  for (const message of messages) {
    const { id, role, content } = message;
    const last = shown.at(-1);
    if (role === 'user' && !id.endsWith('-repair')) shown.push({ id, role, parts: toParts(content) });
    if (role === 'tool') answer(calls.get(message.tool_call_id), message);
    if (role !== 'assistant' || isSilent(message)) continue;
    const parts = toStepParts(message);
    for (const part of parts.filter(isCall)) calls.set(part.toolCallId, part);
    if (last?.role === 'assistant') last.parts.push(...parts);
    else shown.push({ id, role, parts });
  }
  return shown;
}

/** What a tool answered: a value, where it is JSON. */
export function toValue(text: string): unknown {
  if (!/^[[{"\d\-tfn]/.test(text)) return text;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

// --- internal ---

const LONGEST_NOTE = 10_000;

function textIn(parts: readonly UiPart[]): string {
  return parts
    .filter(isText)
    .map(({ text }) => text)
    .join('');
}

function toContent(parts: readonly UiPart[]): unknown {
  if (!parts.some(isFile)) return textIn(parts);
  return parts.flatMap((part): unknown => {
    if (isText(part)) return [{ type: 'text', text: part.text }];
    return isFile(part) ? withName(toProviderContent([toFilePart(part)]), part.filename) : [];
  });
}

/** A document is called by its name, where it has one. */
function withName(content: unknown, filename: string | undefined): unknown {
  const [part] = content as { type?: string; file?: object }[];
  return part?.file && filename !== undefined ? [{ ...part, file: { ...part.file, filename } }] : content;
}

function toFilePart({ mediaType, url }: { mediaType: string; url: string }): AguiPart {
  const [, mimeType, value] = /^data:([^;,]*);base64,(.*)$/s.exec(url) ?? [];
  const source =
    value === undefined
      ? ({ type: 'url', value: url, mimeType: mediaType } as const)
      : ({ type: 'data', value, mimeType: mimeType || mediaType } as const);
  const [kind] = mediaType.split('/');
  return { type: kind === 'image' || kind === 'audio' || kind === 'video' ? kind : 'document', source };
}

function toParts(content: unknown): UiPart[] {
  if (!Array.isArray(content)) return [{ type: 'text', text: toText(content) }];
  return content.flatMap((kept: { file?: { filename?: string } } | null): UiPart[] => {
    const [part] = toAguiContent([kept]) as AguiPart[];
    if (!part || part.type === 'text') return part ? [part] : [];
    const { source } = part;
    const filename = kept?.file?.filename;
    if (source.type === 'file') return [];
    const mediaType = source.mimeType ?? (part.type === 'document' ? 'application/octet-stream' : `${part.type}/*`);
    const url = source.type === 'url' ? source.value : `data:${source.mimeType};base64,${source.value}`;
    return [{ type: 'file', mediaType, url, ...(filename === undefined ? {} : { filename }) }];
  });
}

function toSteps(parts: readonly UiPart[]): UiPart[][] {
  const steps: UiPart[][] = [[]];
  for (const part of parts)
    if (part.type === 'step-start') steps.push([]);
    else steps.at(-1)?.push(part);
  return steps.filter((step) => step.some((part) => isText(part) || isCall(part)));
}

/** The message the box has sent with its parts; of a client that kept none of that, a number behind the first. */
function idOfStep(id: string, step: readonly UiPart[], index: number): string {
  for (const part of step) {
    const metadata = isCall(part) ? part.callProviderMetadata : isText(part) ? part.providerMetadata : undefined;
    if (metadata?.svc?.messageId !== undefined) return metadata.svc.messageId;
  }
  const [, turn, first] = /^(msg_[0-9a-f]+)_(\d+)$/.exec(id) ?? [];
  if (turn !== undefined) return `${turn}_${Number(first) + index}`;
  return index === 0 ? id : `${id}-${index + 1}`;
}

function toStepMessages(step: readonly UiPart[], id: string): SentMessage[] {
  const calls = step.filter(isCall);
  const text = textIn(step);
  const toolCalls = calls.map((part) => ({
    id: part.toolCallId,
    type: 'function' as const,
    function: { name: nameOf(part), arguments: JSON.stringify(part.input ?? {}) },
  }));
  const said: ConversationMessage = {
    id,
    role: 'assistant',
    content: text === '' ? null : text,
    ...(toolCalls.length > 0 ? { tool_calls: toolCalls } : {}),
  };
  return [{ id, message: said }, ...calls.flatMap(toResultMessage)];
}

function toResultMessage({ toolCallId, state, output, errorText }: UiCallPart): SentMessage[] {
  const id = resultIdOf(toolCallId);
  const content = RESULTS[state]?.({ output, errorText });
  if (content === undefined) return [];
  const failed = state === 'output-error' ? ({ isError: true } as const) : {};
  return [{ id, message: { id, role: 'tool', content, tool_call_id: toolCallId, ...failed } }];
}

const RESULTS: Record<string, (part: Pick<UiCallPart, 'output' | 'errorText'>) => string> = {
  'output-available': ({ output }) => (typeof output === 'string' ? output : (JSON.stringify(output) ?? 'null')),
  'output-error': ({ errorText = 'It failed.' }) => FAILED + errorText,
  'output-denied': () => 'The call was not run: it was rejected.',
};

/** For the model, before what the client says of a tool of its own. */
const FAILED = 'Error: ';

function nameOf({ type, toolName }: UiCallPart): string {
  return type === 'dynamic-tool' ? (toolName ?? '') : type.slice('tool-'.length);
}

function toStepParts(message: ConversationMessage & { role: 'assistant' }): UiPart[] {
  const { id, content, reasoning, tool_calls: toolCalls = [] } = message;
  const metadata: PartMetadata = { svc: { messageId: id } };
  const text = toText(content);
  return [
    { type: 'step-start' },
    ...(reasoning ? [{ type: 'reasoning', text: reasoning, state: 'done', providerMetadata: metadata }] : []),
    ...(text === '' ? [] : [{ type: 'text', text, state: 'done', providerMetadata: metadata }]),
    ...toolCalls.map((call) => ({
      type: `tool-${call.function.name}` as const,
      toolCallId: call.id,
      state: 'input-available',
      input: toValue(call.function.arguments),
      callProviderMetadata: metadata,
    })),
  ];
}

/** Of a call that the client runs itself there is no answer until it has sent one. */
function answer(call: UiCallPart | undefined, message: ConversationMessage): void {
  if (!call) return;
  const { content, isError, rejected, byClient } = message;
  const text = toText(content);
  Object.assign(call, {
    ...(byClient ? {} : { providerExecuted: true }),
    ...(rejected !== undefined
      ? { state: 'output-denied', approval: { id: rejected, approved: false } }
      : isError
        ? { state: 'output-error', errorText: byClient && text.startsWith(FAILED) ? text.slice(FAILED.length) : text }
        : { state: 'output-available', output: toValue(text) }),
  });
}
