/**
 * The promise a body gets for a call. It knows whether anything has asked for it: `await`, `Promise.all` and `then` all
 * read the constructor of a promise first.
 */
export class Answer extends Promise<unknown> {
  #isAwaited = false;

  get isAwaited(): boolean {
    return this.#isAwaited;
  }

  /** A failure that was not awaited yet is no unhandled rejection: the body may ask for it later. */
  ignoreUnhandled(): void {
    const { isAwaited } = this;
    this.catch(() => {});
    this.#isAwaited = isAwaited;
  }

  static #asked(answer: Answer): void {
    answer.#isAwaited = true;
  }

  static {
    // To the language it is a plain promise: an `await` of one takes no more turns than that of any other.
    Object.defineProperty(Answer.prototype, 'constructor', {
      configurable: true,
      get(this: unknown) {
        if (this instanceof Answer) Answer.#asked(this);
        return Promise;
      },
    });
  }
}
