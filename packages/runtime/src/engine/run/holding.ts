import type { Call } from '../call.ts';

/** Whether a run may begin steps: not while it is paused, and not once it is held for good. */
export class Holding {
  /** Until the run has left. */
  isHeld = false;
  /** Until the pause is over or the run has left. */
  isPaused = false;
  /** Steps that were recorded while the pause began. */
  #heldBack: Call[] = [];

  /** False: it is paused. */
  pause(): boolean {
    const isNew = !this.isPaused;
    this.isPaused = true;
    return isNew;
  }

  /** False: it was not paused. */
  unpause(): boolean {
    const wasPaused = this.isPaused;
    this.isPaused = false;
    return wasPaused;
  }

  /** Those of the steps that may begin now; those a pause holds back are kept. */
  filter(steps: Call[]): Call[] {
    if (!this.isPaused) return this.isHeld ? NO_CALLS : steps;
    this.#heldBack.push(...steps);
    return NO_CALLS;
  }

  /** The steps that were held back will not be begun. */
  forget(): void {
    this.#heldBack = [];
  }

  /** The steps that were held back, before those that are new. */
  takeWith(steps: Call[]): Call[] {
    return this.#heldBack.length === 0 ? steps : [...this.#heldBack.splice(0), ...steps];
  }
}

// --- internal ---

const NO_CALLS: Call[] = [];
