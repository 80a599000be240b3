import { currentContext } from '../engine/context.ts';
import type { BoxClient } from '../engine/handle.ts';
import { encode } from '../engine/serialize.ts';
import { isStoreDown, persist } from '../engine/persist.ts';
import { listUnread, readAll } from '../engine/values/unread.ts';
import { ONCE } from '../engine/primitives/step.ts';

export interface BoxCall<T> {
  /** What the author called: `run.status`. */
  caller: string;
  /** What distinguishes the call from another of the same name. */
  input: unknown;
  work(client: BoxClient, signal: AbortSignal): Promise<T>;
}

/** Asks the box that runs this code. In a workflow body the answer is recorded, like a step's. */
export function inBox<T>({ caller, input, work }: BoxCall<T>): Promise<T> {
  const context = currentContext();
  if (!context) throw new Error(`${caller} works in a workflow, a step or a tool.`);
  const { execution } = context;
  const { client } = execution.ambient;
  if (context.kind === 'step') return readAll(listUnread(input)).then(() => work(client, context.signal));
  return execution.invoke({
    kind: 'step',
    stepId: caller,
    input: encode({ args: input }, caller),
    action: {
      type: 'run',
      name: caller,
      policy: ONCE,
      // A store that is down is no answer to the body: it would stay its answer.
      run: ({ signal }) => persist(() => work(client, signal), STORE_MS, isStoreDown),
    },
  }) as Promise<T>;
}

// --- internal ---

/** How long a call of a body waits for the store to come back. */
const STORE_MS = 30_000;
