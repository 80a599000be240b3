import type { Emit, TurnEvent } from '../events/turn-events.ts';
import { FENCE, FENCE_OPENING } from './output.ts';

/**
 * Emits the text of an answer that has to be JSON while it is written, as the check will have it: without white space and
 * a code block around it. A text that begins as no object and no list is held back.
 * @param said what was written of it before, and has been emitted so
 */
export function createStreamedOutput(emit: Emit, said = ''): Emit {
  const strip = createStrip();
  strip(said);
  /** Of the text that is being written, once some of it was emitted. */
  let begun: string | undefined;
  return (event) => {
    if (!isText(event)) return emit(event);
    if (event.type === 'text.end' && begun === event.id) {
      begun = undefined;
      return emit(event);
    }
    if (event.type !== 'text.delta') return;
    const text = strip(event.text);
    if (text === '') return;
    if (begun !== event.id) emit({ type: 'text.start', id: event.id });
    begun = event.id;
    emit({ type: 'text.delta', id: event.id, text });
  };
}

/** Whether some of such a text was emitted: the same for a text that comes in pieces, and for one that is recorded. */
export function isStreamedOutput(text: string): boolean {
  return createStrip()(text) !== '';
}

export function isText({ type }: TurnEvent): boolean {
  return type.startsWith('text.');
}

// --- internal ---

/** Longer is no beginning of a code block. */
const LONGEST_OPENING = 64;

/** Answers what may be emitted once a piece more is known. Linear: what is held back is not looked at again. */
function createStrip(): (piece: string) => string {
  let state: 'begins' | 'goes on' | 'is held' = 'begins';
  let isFenced = false;
  let held = '';

  const open = (): string | undefined => {
    held = held.trimStart();
    const [opening] = isFenced ? [] : (FENCE_OPENING.exec(held.slice(0, LONGEST_OPENING)) ?? []);
    if (opening !== undefined) {
      isFenced = true;
      held = held.slice(opening.length).trimStart();
    }
    if (held.startsWith('{') || held.startsWith('[')) return held;
    const mayOpen = !isFenced && held.length < LONGEST_OPENING && !held.includes('\n') && mayBeFence(held);
    if (held !== '' && !mayOpen) state = 'is held';
    return undefined;
  };

  return (piece) => {
    if (state === 'is held') return '';
    if (state === 'begins') {
      held += piece;
      const text = open();
      if (text === undefined) return '';
      state = 'goes on';
      held = '';
      return take(text);
    }
    return take(piece);
  };

  /** What may be the end of the answer waits for what comes after it. */
  function take(piece: string): string {
    let end = piece.length;
    while (end > 0 && mayEnd(piece.charAt(end - 1))) end -= 1;
    if (end === 0) {
      held += piece;
      return '';
    }
    const text = held + piece.slice(0, end);
    held = piece.slice(end);
    return text;
  }

  function mayEnd(character: string): boolean {
    return character.trim() === '' || (isFenced && FENCE.includes(character));
  }
}

function mayBeFence(text: string): boolean {
  return FENCE.startsWith(text.slice(0, FENCE.length)) && 'json'.startsWith(text.slice(FENCE.length).trimEnd());
}
