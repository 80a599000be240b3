import { runInContext, runOutside } from '../context.ts';
import type { StepContext } from '../context.ts';
import type { Abort, SignalsOfRun } from '../values/signal-ref.ts';

interface Known {
  signal: AbortSignal;
  controller: AbortController | undefined;
  /** What the steps have: it aborts with the body's, and before it where a step aborts. */
  steps: AbortController | undefined;
}

/** The abort signals a body hands to its steps: both live in one process, so they are linked; a replay hands them out again. */
export class RunSignals implements SignalsOfRun {
  readonly #known: Known[] = [];
  readonly #handed = new Map<number, Set<AbortSignal>>();
  readonly #views = new WeakMap<StepContext, Map<number, AbortController>>();
  readonly #aborts = new Map<number, Abort[]>();

  idOf(signal: AbortSignal, controller: AbortController | undefined): number {
    const found = this.#known.findIndex((one) => one.signal === signal);
    const known = this.#known[found];
    if (known) known.controller ??= controller;
    return known ? found : this.#known.push({ signal, controller, steps: undefined }) - 1;
  }

  viewFor(step: StepContext, id: number): AbortController | undefined {
    const known = this.#known[id];
    if (!known) return undefined;
    const views = this.#views.get(step) ?? new Map<number, AbortController>();
    this.#views.set(step, views);
    const made = views.get(id);
    if (made) return made;
    known.steps ??= linkTo(known.signal, (work) => runOutside(work));
    const view = linkTo(known.steps.signal, (work) => runInContext(step, work));
    views.set(id, view);
    this.#handed.set(step.call, (this.#handed.get(step.call) ?? new Set()).add(view.signal));
    return view;
  }

  abortFrom(call: number, abort: Abort): void {
    this.#aborts.set(call, [...(this.#aborts.get(call) ?? []), abort]);
    this.#known[abort.id]?.steps?.abort(abort.reason);
  }

  /** What the step has aborted, once it has ended. */
  takeAborts(call: number): Abort[] | undefined {
    const aborts = this.#aborts.get(call);
    this.#aborts.delete(call);
    return aborts;
  }

  /** The step has given up because a signal it was handed has aborted: to try again would end the same. */
  hasGivenUp(call: number, thrown: unknown): boolean {
    for (const { aborted, reason } of this.#handed.get(call) ?? [])
      if (aborted && (thrown === reason || (thrown instanceof Error && thrown.name === 'AbortError'))) return true;
    return false;
  }

  /** Aborts in the body what a step of it has aborted. */
  deliver(aborts: readonly Abort[]): void {
    for (const { id, reason } of aborts) this.#known[id]?.controller?.abort(reason);
  }
}

// --- internal ---

/** @param within what listens for it belongs there, whoever aborts: a step sees the real world where its body does */
function linkTo(signal: AbortSignal, within: (work: () => void) => void): AbortController {
  const view = new AbortController();
  const abort = (): void => within(() => view.abort(signal.reason));
  if (signal.aborted) abort();
  else signal.addEventListener('abort', abort, { once: true });
  return view;
}
