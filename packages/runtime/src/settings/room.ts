import type { Gate } from '../gate/gate.ts';
import { defineRoom } from '../operations/room.ts';
import type { Models } from '../provider/models.ts';
import type { ModelProvider } from '../provider/provider.ts';
import {
  getSettings,
  getSetup,
  setCopilot,
  setKeyExpiry,
  setLogRetention,
  setMcp,
  updateSettings,
} from './operations.ts';
import { createSettings } from './settings.ts';
import type { SettingsOptions, WorkspaceSettings } from './settings.ts';
import { createSetup } from './setup.ts';

export const settingsRoom = defineRoom({
  name: 'settings',
  operations: [getSettings, updateSettings, setLogRetention, setKeyExpiry, setMcp, setCopilot],
  create: ({ db, kv, isOpen, environmentModel, codeModel, codeMcpTools }: SettingsOptions) =>
    createSettings({ db, kv, isOpen, environmentModel, codeModel, codeMcpTools }),
  close: (settings) => settings.close(),
});

export interface Given {
  gate: Gate;
  provider: ModelProvider;
  models: Models;
  settings: WorkspaceSettings;
  opening: { hasCompletedRun(): Promise<boolean> };
}

/** The checklist of the first run. */
export const setupRoom = defineRoom({
  name: 'setup',
  operations: [getSetup],
  create: ({ gate, provider, models, settings, opening }: Given) =>
    createSetup({ gate, provider, models, settings, hasCompletedRun: opening.hasCompletedRun }),
});
