import type { PartEvents } from './part-events.ts';

/** One run is at one write, or one look into the journal, at a time. */
export class Writing {
  isUnderWay = false;
  readonly #events: WritingEvents;
  /** The run came to its turn meanwhile. */
  #isBehind = false;

  constructor(events: WritingEvents) {
    this.#events = events;
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
      (error: unknown) => this.#events.onFailed(error),
    );
  }

  /** The write is over. */
  goOn(work: () => void): void {
    this.isUnderWay = false;
    if (this.#events.hasLeft()) return;
    this.attend(work);
    if (!this.#isBehind || this.isUnderWay) return;
    this.#isBehind = false;
    this.#events.onChange();
  }

  attend(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#events.onFailed(error);
    }
  }
}

// --- internal ---

type WritingEvents = Pick<PartEvents, 'hasLeft' | 'onChange' | 'onFailed'>;
