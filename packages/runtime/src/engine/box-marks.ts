// Attributes of a run that the box itself gives it. Their names begin with `svc.`, and code may set none of them.

/** The mark of a run that only the person who asked for it may see, and owners and admins: its value is the caller's id. */
export const ASKED_BY = 'svc.asked_by';

/** The mark of a run whose tokens count for others than its agent: who that is, with spaces between. */
export const CHARGED_TO = 'svc.charged_to';

/** The mark of a run that was started with an id of its creator's choice. */
export const OWN_ID = 'svc.id';

/** The model of the turns of a run and of those below it, whatever their agents say. */
export const MODEL = 'svc.model';

/** The versions of prompts that a run and those below it use in place of the published ones, as JSON text. */
export const PROMPTS = 'svc.prompts';

/** The mark of a run that waits for an operator before it begins, whatever was decided since: what holds it, as JSON text. */
export const HELD = 'svc.held';

/** A version of a prompt, with what it is asked for by. */
export interface PinnedVersion {
  promptId: string;
  version: number;
  ownerKind: 'agent' | 'workflow' | 'workspace';
  ownerName: string;
  key: string;
}

/** Undefined: each agent has its own. */
export function pinnedModel({ attributes }: { attributes: string | null }): string | undefined {
  return markOf(attributes, MODEL);
}

export function pinnedPrompts({ attributes }: { attributes: string | null }): PinnedVersion[] {
  const text = markOf(attributes, PROMPTS);
  return text === undefined ? [] : (JSON.parse(text) as PinnedVersion[]);
}

export function toPinnedMarks(model: string | null, prompts: readonly PinnedVersion[]): Record<string, string> {
  return {
    ...(model === null ? {} : { [MODEL]: model }),
    ...(prompts.length === 0 ? {} : { [PROMPTS]: JSON.stringify(prompts) }),
  };
}

/** Who asked for a run that not everyone may see. Undefined: a run like any other. */
export function askedByOf({ attributes }: { attributes: string | null }): string | undefined {
  return markOf(attributes, ASKED_BY);
}

/** For whom the tokens of the run count, besides its agent. */
export function chargedTo({ attributes }: { attributes: string | null }): string[] {
  return markOf(attributes, CHARGED_TO)?.split(' ') ?? [];
}

export function toChargedMark(charged: readonly string[]): Record<string, string> {
  return charged.length > 0 ? { [CHARGED_TO]: charged.join(' ') } : {};
}

/** The id its creator chose. Undefined: it has none. */
export function ownIdOf({ attributes }: { attributes: string | null }): string | undefined {
  return markOf(attributes, OWN_ID);
}

/** What holds a run before it begins, as it was given. Undefined: nothing does. */
export function heldOf({ attributes }: { attributes: string | null }): unknown {
  const text = markOf(attributes, HELD);
  return text === undefined ? undefined : JSON.parse(text);
}

// --- internal ---

function markOf(attributes: string | null, name: string): string | undefined {
  if (!attributes?.includes(name)) return undefined;
  return (JSON.parse(attributes) as Record<string, string | undefined>)[name];
}
