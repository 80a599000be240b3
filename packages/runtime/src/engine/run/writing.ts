export interface WritingOptions {
  hasLeft(): boolean;
  /** There is something to do. */
  onChange(): void;
  onFailed(error: unknown): void;
}

/** One run is at one write, or one look into the journal, at a time. */
export class Writing {
  isUnderWay = false;
  readonly #options: WritingOptions;
  /** The run came to its turn meanwhile. */
  #isBehind = false;

  constructor(options: WritingOptions) {
    this.#options = options;
  }

  begin(): void {
    this.isUnderWay = true;
  }

  /** The run has its turn once this write is over. */
  defer(): void {
    this.#isBehind = true;
  }

  /** Goes on with what the store answers. */
  after<T>(answer: Promise<T>, work: (value: T) => void): void {
    this.begin();
    answer.then(
      (value) => this.goOn(() => work(value)),
      (error: unknown) => this.#options.onFailed(error),
    );
  }

  /** The write is over. */
  goOn(work: () => void): void {
    this.isUnderWay = false;
    const { hasLeft, onChange } = this.#options;
    if (hasLeft()) return;
    this.attend(work);
    if (!this.#isBehind || this.isUnderWay) return;
    this.#isBehind = false;
    onChange();
  }

  attend(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#options.onFailed(error);
    }
  }
}
