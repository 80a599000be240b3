// Attributes of a run that the box itself gives it. Their names begin with `svc.`, and code may set none of them.

/** The mark of a run that only the person who asked for it may see, and owners and admins: its value is the caller's id. */
export const ASKED_BY = 'svc.asked_by';

/** The mark of a run whose tokens count for others than its agent: who that is, with spaces between. */
export const CHARGED_TO = 'svc.charged_to';

/** The mark of a run that was started with an id of its creator's choice. */
export const OWN_ID = 'svc.id';

/** Who asked for a run that not everybody may see. Undefined: a run like any other. */
export function askedByOf({ attributes }: { attributes: string | null }): string | undefined {
  if (!attributes?.includes(ASKED_BY)) return undefined;
  return (JSON.parse(attributes) as Record<string, string | undefined>)[ASKED_BY];
}

/** For whom the tokens of the run count, besides its agent. */
export function chargedTo({ attributes }: { attributes: string | null }): string[] {
  if (!attributes?.includes(CHARGED_TO)) return [];
  return (JSON.parse(attributes) as Record<string, string | undefined>)[CHARGED_TO]?.split(' ') ?? [];
}

export function toChargedMark(charged: readonly string[]): Record<string, string> {
  return charged.length > 0 ? { [CHARGED_TO]: charged.join(' ') } : {};
}

/** The id its creator chose. Undefined: it has none. */
export function ownIdOf({ attributes }: { attributes: string | null }): string | undefined {
  if (!attributes?.includes(OWN_ID)) return undefined;
  return (JSON.parse(attributes) as Record<string, string | undefined>)[OWN_ID];
}
