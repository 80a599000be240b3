import { callStep } from '../engine/primitives/step.ts';

/**
 * `fetch` as a step: in a workflow body the whole answer is recorded, at most 1 MiB of it, and a request that gets none
 * is tried again, three times. Anywhere else it is the global one.
 */
export async function fetch(...args: Parameters<typeof globalThis.fetch>): Promise<Response> {
  return callStep('workflow#fetch', fetch as never, fetchNow as never, undefined, args) as Promise<Response>;
}

// --- internal ---

function fetchNow(...args: Parameters<typeof globalThis.fetch>): Promise<Response> {
  return globalThis.fetch(...args);
}
