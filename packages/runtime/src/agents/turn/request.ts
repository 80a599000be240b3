import type { PinnedVersion } from '../../engine/box-marks.ts';
import type { RunTrigger } from '../../engine/journal/run.ts';
import { BoxError } from '../../errors.ts';
import type { SessionKind, SessionOwner } from './session-store.ts';
import type { Caller } from '../../auth/caller.ts';
import type { ChatMessage } from '../model/messages.ts';
import type { ClientTool, ConversationMessage, TurnInput, TurnKey } from './input.ts';

/** What a wire asks for. */
export interface TurnRequest {
  agent: string;
  /** The conversation, or what is new of it where the box keeps it. Messages without an id get one. */
  messages: (ChatMessage & { id?: string })[];
  parameters: Record<string, unknown>;
  /** What the client would like of the model where it can: a provider that refuses them is asked without. */
  hints?: Record<string, unknown>;
  /** Tools the client runs itself. */
  tools?: ClientTool[];
  /** `name`: what the client calls it. `owner`: default by the caller. */
  session?: { name: string; kind: SessionKind; cutAfter?: string | null; owner?: SessionOwner };
  outputSchema?: Record<string, unknown>;
  /** Who asks. Absent: the box. */
  caller?: Caller;
  /** The same key answers with the turn it began: nothing is asked or run again. */
  key?: TurnKey;
  /** The stateless turn whose calls the client has run, and which keeps the calls the client was not shown. */
  continues?: string;
  /** What its run says made it begin. Default: `chat`. */
  trigger?: RunTrigger;
  /** Versions of prompts that stand for what is published, in it and below it. */
  pinned?: readonly PinnedVersion[];
  /** Its events are wanted all at once, when it has ended. */
  isWhole?: boolean;
}

/** What the run of the turn records as its input. Throws `invalid_request` when two tools have one name. */
export function toTurnInput(runId: string, request: TurnRequest, model: string): TurnInput {
  const { session, tools = [], parameters, hints, outputSchema, key } = request;
  requireOneOfEach(tools);
  const isSystem = ({ role }: ChatMessage) => role === 'system' || role === 'developer';
  const short = runId.replaceAll('-', '');
  return {
    model,
    system: request.messages.filter(isSystem).map(({ content }) => textOf(content)),
    messages: request.messages
      .filter((message) => !isSystem(message))
      .map((message, index): ConversationMessage => ({ ...message, id: message.id ?? `in_${short}_${index + 1}` })),
    tools,
    parameters,
    ...(hints ? { hints } : {}),
    ...(session?.kind === 'session'
      ? { session: { id: session.name, ...(session.cutAfter === undefined ? {} : { cutAfter: session.cutAfter }) } }
      : {}),
    ...(outputSchema ? { outputSchema } : {}),
    ...(key ? { isKeyed: true } : {}),
  };
}

// --- internal ---

/** A call says no more than a name. */
function requireOneOfEach(tools: readonly ClientTool[]): void {
  const names = new Set<string>();
  for (const { name } of tools) {
    if (names.has(name))
      throw new BoxError('invalid_request', `Two of "tools" are named "${name}". Give one of them another name.`, {
        details: { param: 'tools', tool: name },
      });
    names.add(name);
  }
}

/** The text of a message, whose content may be a list of parts. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content
    .map((part: unknown) => (part as { text?: unknown } | null)?.text)
    .filter((text) => typeof text === 'string')
    .join('\n');
}
