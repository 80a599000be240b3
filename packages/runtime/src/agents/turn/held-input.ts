import { askAboutText } from '../../approvals/held-text.ts';
import { toShownInput } from '../../approvals/shown-input.ts';
import type { RunHandle } from '../../engine/handle.ts';
import { requireApproved } from '../../guardrails/refusal.ts';
import type { Emit } from '../events/turn-events.ts';
import { toTextInterrupt } from './interrupts.ts';
import type { ConversationMessage, HeldInput, TurnInput } from './input.ts';

/** The events of a turn that waits before it has begun, and the wait. Throws `agent_guardrail_blocked` where it is refused. */
export async function holdInput(
  execution: RunHandle,
  { agent, input, emit }: { agent: string; input: TurnInput & { held: HeldInput }; emit: Emit },
): Promise<void> {
  const { rule, ruleId, reason } = input.held;
  const heldBy = { rule, ruleId, reason };
  const { token, answer, kept } = askAboutText(execution, {
    side: 'agent-input',
    place: `agent ${agent}`,
    step: 0,
    title: `Ask "${agent}" this?`,
    payload: toShownInput({
      agent,
      system: input.system,
      messages: input.messages.slice(input.held.from).map(toShown),
    }),
    heldBy,
  });
  if (!execution.isReplaying) {
    emit({ type: 'interrupt', ...toTextInterrupt(token, kept) });
    emit({ type: 'finish', reason: 'interrupt' });
  }
  const held = `what agent "${agent}" is asked`;
  requireApproved(await answer, { code: 'agent_guardrail_blocked', held, by: heldBy });
}

// --- internal ---

/** The text of it: what whoever decides is shown, and rules judge. */
function toShown({ role, content }: ConversationMessage): { role: string; text: string } {
  return { role, text: textOf(content) };
}

function textOf(content: unknown): string {
  if (!Array.isArray(content)) return typeof content === 'string' ? content : '';
  const texts = (content as ({ text?: unknown } | null)[]).map((part) => part?.text);
  return texts.filter((text) => typeof text === 'string').join('\n');
}
