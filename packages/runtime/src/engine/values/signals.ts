import { currentContext } from '../context.ts';
import type { Abort, SignalRef } from './signal-ref.ts';

/** What a step has answered that has aborted controllers of its body. */
export class AbortingAnswer {
  readonly value: unknown;
  readonly aborts: Abort[];

  constructor(value: unknown, aborts: Abort[]) {
    this.value = value;
    this.aborts = aborts;
  }
}

/** Only of a body: what a step makes is no other's. */
export function reduceSignal(value: object): SignalRef | false {
  const isController = value instanceof AbortController;
  if (!isController && !(value instanceof AbortSignal)) return false;
  const context = currentContext();
  const known = (value as unknown as Record<symbol, number | undefined>)[HANDED];
  if (context?.kind !== 'body' && known === undefined) return false;
  const signal = isController ? value.signal : value;
  const id = known ?? context?.execution.abortSignals.idOf(signal, isController ? value : undefined);
  if (id === undefined) return false;
  const { aborted } = signal;
  return { id, isController, aborted, ...(aborted ? { reason: signal.reason as unknown } : {}) };
}

export function reviveSignal({ id, isController, aborted, reason }: SignalRef): AbortController | AbortSignal {
  const context = currentContext();
  const view = context?.kind === 'step' ? context.execution.abortSignals.viewFor(context, id) : undefined;
  const controller = new AbortController();
  const { signal } = view ?? controller;
  if (!view && aborted) controller.abort(reason);
  mark(signal, id);
  if (!isController) return signal;
  const { call, execution } = context?.kind === 'step' ? context : {};
  const abort = (why?: unknown): void => {
    if (signal.aborted) return;
    const given = why === undefined ? new DOMException('This operation was aborted', 'AbortError') : why;
    if (view && call !== undefined) execution?.abortSignals.abortFrom(call, { id, reason: given });
    else controller.abort(given);
  };
  return mark(Object.defineProperties(controller, { signal: { value: signal }, abort: { value: abort } }), id);
}

// --- internal ---

const HANDED = Symbol.for('svc.engine.signal');

function mark<T extends object>(value: T, id: number): T {
  return Object.defineProperty(value, HANDED, { value: id, configurable: true });
}
