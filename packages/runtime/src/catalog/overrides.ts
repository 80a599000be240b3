import type { Limits } from '../limits/limits.ts';

/** What an operator chose for an agent or a workflow, beside its code. */
export interface CatalogOverride {
  /** Null: what the code says. */
  model: string | null;
  /** Of an agent, instead of those of the code. Null: what the code says. */
  limits: Limits | null;
  /** It is offered nowhere, and answers whoever knows its name. */
  isHidden: boolean;
}

export type OverridableKind = 'agent' | 'workflow';

/** In force on every replica within 5 seconds. */
export interface CatalogOverrides {
  find(kind: OverridableKind, name: string): Promise<CatalogOverride>;
  /** Those that are not hidden. */
  listShown(kind: OverridableKind, names: readonly string[]): Promise<string[]>;
  set(kind: OverridableKind, name: string, change: Partial<CatalogOverride>, by: string): Promise<void>;
  close(): Promise<void>;
}

/** No choice was made. */
export const NO_OVERRIDE: CatalogOverride = { model: null, limits: null, isHidden: false };
