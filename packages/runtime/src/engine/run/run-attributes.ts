import { checkAttributes } from '../attributes.ts';
import type { RunPatch } from '../journal/appends.ts';
import type { RunRow } from '../journal/run.ts';

type Attributes = Record<string, string | number | boolean>;

/** The marks of one run: what its code has set since the last append. */
export class RunAttributes {
  readonly #run: RunRow;
  #fresh: Attributes | undefined;

  constructor(run: RunRow) {
    this.#run = run;
  }

  get hasFresh(): boolean {
    return this.#fresh !== undefined;
  }

  /** Throws where they are too many, or no marks. */
  set(attributes: Attributes): void {
    const known = this.#fresh ?? (JSON.parse(this.#run.attributes ?? '{}') as Attributes);
    this.#fresh = checkAttributes({ ...known, ...attributes });
  }

  /** What the next append has to write. */
  take(): RunPatch {
    if (!this.#fresh) return {};
    const attributes = JSON.stringify(this.#fresh);
    this.#fresh = undefined;
    (this.#run as { attributes: string | null }).attributes = attributes;
    return { attributes };
  }
}
