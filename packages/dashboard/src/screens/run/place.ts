/** The first frame of a stack that lies in the project: `workflows/refund.workflow.ts:12`. Undefined: there is none. */
export function placeOf(stack: string | null): string | undefined {
  for (const line of (stack ?? '').slice(0, MOST).split('\n')) {
    const place = FRAME.exec(line)?.[1];
    if (place !== undefined) return place;
  }
  return undefined;
}

// --- internal ---

/** Characters of a stack that are looked through. */
const MOST = 10_000;

/** A function without a name stands by its place alone, behind `async` where it was awaited. */
const FRAME = /^\s+at (?:async )?(?:.*\()?(?!node:)([^()\s]+\/[^()\s]+:\d+):\d+\)?$/;
