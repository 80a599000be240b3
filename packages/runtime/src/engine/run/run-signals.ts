import { runOutside } from '../context.ts';
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
  readonly #aborts = new Map<number, Abort[]>();

  idOf(signal: AbortSignal, controller: AbortController | undefined): number {
    const found = this.#known.findIndex((one) => one.signal === signal);
    const known = this.#known[found];
    if (known) known.controller ??= controller;
    return known ? found : this.#known.push({ signal, controller, steps: undefined }) - 1;
  }

  viewFor(call: number, id: number): AbortController | undefined {
    const known = this.#known[id];
    if (!known) return undefined;
    const view = (known.steps ??= linkTo(known.signal));
    this.#handed.set(call, (this.#handed.get(call) ?? new Set()).add(view.signal));
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

function linkTo(signal: AbortSignal): AbortController {
  const view = new AbortController();
  // The steps see the real world, also where the body is what aborts.
  const abort = (): void => runOutside(() => view.abort(signal.reason));
  if (signal.aborted) abort();
  else signal.addEventListener('abort', abort, { once: true });
  return view;
}
