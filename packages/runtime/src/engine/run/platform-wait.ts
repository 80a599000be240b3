import { runOutside } from '../context.ts';

/** Work of the platform that a body awaits: one after the other it ends, in the order it was begun. */
export class PlatformWait {
  #count = 0;
  #last: Promise<unknown> | undefined;

  get isUnderWay(): boolean {
    return this.#count > 0;
  }

  /** `onDone`: after the body has been given the answer. */
  begin<T>(work: () => Promise<T>, onDone: () => void): Promise<T> {
    this.#count += 1;
    const own = runOutside(work);
    const turn = Promise.allSettled([this.#last, own]);
    this.#last = turn;
    void turn.then(() => {
      this.#count -= 1;
      onDone();
    });
    return turn.then(() => own);
  }
}
