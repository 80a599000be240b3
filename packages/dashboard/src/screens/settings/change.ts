import type { OperationInput } from '@svc/runtime/client';

export type SettingsChange = OperationInput<'settings.update'>;

/** What a field changes; nothing where it says what is set. Empty takes a setting back. */
export function toChange(name: keyof SettingsChange, text: string, before: string | null): SettingsChange {
  const next = text.trim() === '' ? null : text.trim();
  return next === before ? {} : { [name]: next };
}
