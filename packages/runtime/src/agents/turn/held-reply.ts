import { askAboutText } from '../../approvals/held-text.ts';
import type { HeldOutput, ModelReply } from '../model/read-reply.ts';
import { createReplyParts } from '../model/reply.ts';
import type { ReplyOptions } from '../model/reply.ts';
import { toTextInterrupt } from './interrupts.ts';
import type { ToolTurn } from './tool-turn.ts';

/** The step that records what was decided about a reply that waited. */
export const DECIDED = 'guardrail';

/** Waits for the decision about what a guardrail holds of a reply, and emits the rest of it where it may be said. */
export async function passReply(
  turn: ToolTurn,
  reply: ModelReply & { heldOutput: HeldOutput },
  { step, options }: { step: number; options: ReplyOptions },
): Promise<ModelReply> {
  const { heldOutput: held, content: said } = reply;
  const { rule, ruleId, reason, content: text, reasoning } = held;
  const { name: agent } = turn.options.agent;
  const calls = held.toolCalls.map(({ name: tool, arguments: args }) => ({ tool, arguments: args }));
  const { token, answer, kept } = askAboutText(turn.execution, {
    side: 'agent-output',
    place: `agent ${agent}`,
    step,
    title: `Let "${agent}" say this?`,
    payload: {
      agent,
      said,
      text,
      ...(reasoning === '' ? {} : { reasoning }),
      ...(calls.length > 0 ? { calls } : {}),
    },
    heldBy: { rule, ruleId, reason },
  });
  turn.interrupt(toTextInterrupt(token, kept));
  const { approved } = await answer;
  turn.decided(token);
  const decided = await turn.invoke(
    'step',
    DECIDED,
    { step },
    {
      name: DECIDED,
      run() {
        if (approved) emitRest(held, options);
        return { approved };
      },
    },
  );
  return toDecided(reply, decided as Decided);
}

export interface Decided {
  approved: boolean;
}

/** A reply that has waited, as it is in the conversation. Undefined: it waits. */
export function toDecided(reply: ModelReply, decided: Decided | undefined): ModelReply {
  const { heldOutput, ...said } = reply;
  if (!heldOutput || !decided) return reply;
  if (!decided.approved) return { ...said, finishReason: 'content_filter', blockedBy: heldOutput.rule };
  const { toolCalls, held } = heldOutput;
  return { ...said, ...joinHeld(said, heldOutput), toolCalls, ...(held ? { held } : {}) };
}

/** The texts of a reply that was held, whole. */
export function joinHeld(said: Texts, rest: Texts): Texts {
  return { content: said.content + rest.content, reasoning: said.reasoning + rest.reasoning };
}

// --- internal ---

type Texts = Pick<ModelReply, 'content' | 'reasoning'>;

function emitRest({ content, reasoning, toolCalls, begun }: HeldOutput, options: ReplyOptions): void {
  const parts = createReplyParts({ ...options, begun, uniqueId: (id) => id });
  if (reasoning !== '') parts.reasoning(reasoning);
  if (content !== '') parts.text(content);
  for (const [index, { id, name, arguments: args }] of toolCalls.entries())
    parts.tool({ index, id, function: { name, arguments: args } });
  parts.close();
}
