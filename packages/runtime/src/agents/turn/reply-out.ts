import { toHeldBy } from '../../approvals/held-text.ts';
import type { HeldBy } from '../../approvals/held-text.ts';
import type { Found } from '../../guardrails/text-stream.ts';
import type { BegunParts } from '../model/reply.ts';
import type { Emit } from '../events/turn-events.ts';

/** A part of a reply, as it comes. */
export interface OpenPart {
  kind: 'text' | 'reasoning';
  id: string;
  isBegun: boolean;
}

/** The rest of a reply, behind what was emitted, and what holds it. */
export interface FilteredHold {
  heldBy: HeldBy;
  content: string;
  reasoning: string;
  /** How many parts of each kind were emitted. */
  begun: BegunParts;
}

/** What may pass of a reply on its way to its readers, up to where something holds the rest. */
export interface ReplyOut {
  emit: Emit;
  /** More of the part. */
  write(part: OpenPart, text: string): void;
  end(part: OpenPart): void;
  /** From here on nothing is emitted. `part`: the one that is open. */
  hold(by: Found, part?: OpenPart): void;
  readonly isHeld: boolean;
  /** What was emitted. */
  said(): { text: string; reasoning: string };
  /** Undefined: nothing holds it. */
  rest(): FilteredHold | undefined;
}

export function createReplyOut(emitOut: Emit): ReplyOut {
  const texts = { text: '', reasoning: '' };
  const begun = { text: 0, reasoning: 0 };
  let held: { by: Found; said: typeof texts } | undefined;
  const emit: Emit = (event) => {
    if (!held) emitOut(event);
  };
  const end = ({ kind, id, isBegun }: OpenPart): void => {
    if (isBegun) emit({ type: `${kind}.end`, id });
  };
  return {
    emit,
    end,
    write(part, text) {
      if (text === '') return;
      const { kind, id, isBegun } = part;
      if (!isBegun) emit({ type: `${kind}.start`, id });
      if (!isBegun && !held) begun[kind] += 1;
      part.isBegun = true;
      texts[kind] += text;
      emit({ type: `${kind}.delta`, id, text });
    },
    hold(by, part) {
      if (held) return;
      if (part) end(part);
      held = { by, said: { ...texts } };
    },
    get isHeld() {
      return held !== undefined;
    },
    said: () => held?.said ?? texts,
    rest: () =>
      held && {
        heldBy: toHeldBy(held.by),
        content: texts.text.slice(held.said.text.length),
        reasoning: texts.reasoning.slice(held.said.reasoning.length),
        begun,
      },
  };
}
