import { KEEP_ALIVE } from '../../http/sse.ts';
import type { CompletionView } from './completion.ts';
import {
  isShown,
  shownIdOf,
  toInterruptText,
  toWireFinish,
  toWireInterrupts,
  toWireLogprobs,
  toWireUsage,
} from './completion.ts';
import { toWireError } from './error.ts';
import type { EventBatches, FinishReason, Interrupt, TurnEvent, Usage } from '../../agents/events/turn-events.ts';
import { joinFrames } from '../frames.ts';
import { toFailure } from '../wire-error.ts';

/**
 * The answer as server-sent chunks: the role first, one chunk per delta, exactly one with a finish reason, usage when
 * asked for, then `[DONE]`. Tool calls are numbered through the whole turn.
 */
export async function* toChunks(events: EventBatches, view: CompletionView): AsyncGenerator<string> {
  const translate = createTranslator(view);
  let begun = false;
  for await (const batch of events) {
    for (const frames of joinFrames(batch, translate)) {
      yield frames;
      begun = true;
    }
    // What comes first sends the head of the answer, too: it is not to wait for something that is shown.
    if (!begun) yield KEEP_ALIVE;
    begun = true;
  }
  yield 'data: [DONE]\n\n';
}

// --- internal ---

/** The frames of one event after the other; none for most kinds. */
function createTranslator(view: CompletionView): (event: TurnEvent) => string {
  const head = headOf(view);
  /** Of the next text. */
  let tokens: unknown[] = [];
  const takeLogprobs = () => {
    const logprobs = toWireLogprobs(tokens, view);
    tokens = [];
    return logprobs;
  };
  const chunk = (delta: object, finish: string | null = null, more: object = {}) =>
    frame({ ...head, choices: [{ index: 0, delta, logprobs: null, finish_reason: finish, ...more }] });
  const calls: Calls = { index: -1, isShown: false };
  const interrupts: Interrupt[] = [];
  let usage: Usage | undefined;
  let begun = false;
  const finish = (reason: FinishReason): string =>
    chunk({}, toWireFinish(reason), interrupts.length > 0 ? { svc: toWireInterrupts(interrupts) } : {}) +
    (view.includeUsage ? frame({ ...head, choices: [], usage: toWireUsage(usage) }) : '');
  return (event) => {
    if (event.type === 'usage') usage = event;
    if (event.type === 'text.logprobs') for (const token of event.tokens) tokens.push(token);
    if (event.type === 'interrupt') interrupts.push(event);
    const failure = toFailure(event);
    if (failure) return frame(toWireError(failure));
    const delta = toDelta(event, calls, view);
    if (!delta && event.type !== 'finish') return '';
    const opening = begun ? '' : chunk({ role: 'assistant', content: '' });
    begun = true;
    const more = event.type === 'text.delta' ? { logprobs: takeLogprobs() } : {};
    return opening + (delta ? chunk(delta, null, more) : '') + (event.type === 'finish' ? finish(event.reason) : '');
  };
}

/** Calls are emitted one after the other, so fragments belong to the last one begun. */
interface Calls {
  index: number;
  isShown: boolean;
}

function toDelta(event: TurnEvent, calls: Calls, view: CompletionView): object | undefined {
  if (event.type === 'text.delta') return { content: event.text };
  if (event.type === 'reasoning.delta') return { reasoning_content: event.text };
  if (event.type === 'interrupt') return { content: toInterruptText(event) };
  if (event.type === 'tool.start') {
    calls.isShown = isShown(event, view);
    if (!calls.isShown) return undefined;
    const index = ++calls.index;
    const id = shownIdOf(event, view);
    return { tool_calls: [{ index, id, type: 'function', function: { name: event.name, arguments: '' } }] };
  }
  if (event.type === 'tool.args' && calls.isShown)
    return { tool_calls: [{ index: calls.index, function: { arguments: event.delta } }] };
  return undefined;
}

function headOf({ id, created, model }: CompletionView) {
  return { id, object: 'chat.completion.chunk', created, model };
}

function frame(data: object): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}
