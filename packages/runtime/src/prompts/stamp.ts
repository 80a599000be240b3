import type { PublishedPrompt } from './store.ts';

/** The mark of a turn whose instructions are a published prompt. */
const INSTRUCTIONS = 'svc.prompt.instructions';

/** What marks the run of a turn that begins with the prompt as its instructions. */
export function stampInstructions(prompt: Omit<PublishedPrompt, 'text'>): Record<string, string> {
  return { [INSTRUCTIONS]: toStamp(prompt) };
}

/** The version a turn began with. Undefined: there was none, so the instructions are those of its code. */
export function readInstructionsStamp(attributes: string | null): { promptId: string; version: number } | undefined {
  const stamp: unknown = attributes === null ? undefined : (JSON.parse(attributes) as object)[INSTRUCTIONS as never];
  const [, promptId, version] = typeof stamp === 'string' ? (/^([\w-]+)@(\d+)$/.exec(stamp) ?? []) : [];
  return promptId === undefined ? undefined : { promptId, version: Number(version) };
}

/** What marks a run whose code has asked for the prompt. */
export function stampRead(ownerKind: string, key: string, prompt: Omit<PublishedPrompt, 'text'>) {
  return { [`svc.prompt.${ownerKind}.${key}`]: toStamp(prompt) };
}

// --- internal ---

function toStamp({ promptId, version }: Omit<PublishedPrompt, 'text'>): string {
  return `${promptId}@${version}`;
}
