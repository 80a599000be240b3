import type { RunPatch } from '../journal/appends.ts';
import type { RunRow } from '../journal/run.ts';
import { decode, encode } from '../serialize.ts';
import { isSurelyLarger } from '../values/size.ts';

/** What one run publishes: the last one counts, and goes with the next append. */
export class PublishedState {
  readonly #run: RunRow;
  #fresh: string | undefined;

  constructor(run: RunRow) {
    this.#run = run;
  }

  get hasFresh(): boolean {
    return this.#fresh !== undefined;
  }

  /** @param text of `encodeState`. False: it is what is known already. */
  set(text: string): boolean {
    const [count, known] = split(this.#fresh ?? this.#run.state);
    if (known === text) return false;
    this.#fresh = `${count + 1}:${text}`;
    return true;
  }

  /** What the next append has to write. */
  take(): RunPatch {
    if (this.#fresh === undefined) return {};
    const state = this.#fresh;
    this.#fresh = undefined;
    (this.#run as { state: string | null }).state = state;
    return { state };
  }
}

/** Throws where the state cannot be recorded, or is larger than `MAX_STATE_BYTES`. */
export function encodeState(state: unknown): string {
  if (isSurelyLarger(state, MAX_STATE_BYTES)) throw tooLargeState();
  const text = encode(state, 'state');
  const bytes = Buffer.byteLength(text);
  if (bytes > MAX_STATE_BYTES) throw tooLargeState(bytes);
  return text;
}

/** What the run published last; undefined: nothing. */
export function stateOf({ state }: Pick<RunRow, 'state'>): unknown {
  const [, text] = split(state);
  return text === undefined ? undefined : decode(text);
}

// --- internal ---

const MAX_STATE_BYTES = 65_536;

/** @param bytes undefined: it was not written */
function tooLargeState(bytes?: number): Error {
  const limit = MAX_STATE_BYTES;
  const size = bytes ?? `more than ${limit}`;
  const message = `The state is ${size} bytes; ${limit} may be published. Store it elsewhere and publish a reference.`;
  const given = { code: 'state_too_large', fatal: true, bytes: bytes ?? limit + 1, limit };
  return Object.assign(new RangeError(message), given);
}

function split(state: string | null): [count: number, text: string | undefined] {
  if (state === null) return [0, undefined];
  const colon = state.indexOf(':');
  return [Number(state.slice(0, colon)), state.slice(colon + 1)];
}
