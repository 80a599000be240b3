export const OWNER_KINDS = ['agent', 'workflow', 'workspace'] as const;
export type OwnerKind = (typeof OWNER_KINDS)[number];

/** Whose prompt it is, as people say it. */
export function ownerOf({ ownerKind, ownerName }: { ownerKind: OwnerKind; ownerName: string }): string {
  return ownerKind === 'workspace' ? 'the workspace' : `${ownerKind} ${ownerName}`;
}
