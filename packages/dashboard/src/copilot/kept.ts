import type { Bootstrap } from '../app/bootstrap.ts';

/** The conversation of a person with the copilot of a box, as this browser keeps it. Undefined: there is none. */
export function readThread(bootstrap: Bootstrap): string | undefined {
  return localStorage.getItem(keyOf(bootstrap)) ?? undefined;
}

export function keepThread(bootstrap: Bootstrap, threadId: string): void {
  localStorage.setItem(keyOf(bootstrap), threadId);
}

export function forgetThread(bootstrap: Bootstrap): void {
  localStorage.removeItem(keyOf(bootstrap));
}

// --- internal ---

function keyOf({ installation, name, caller }: Bootstrap): string {
  return `svc.copilot ${JSON.stringify([installation ?? name, caller.id])}`;
}
