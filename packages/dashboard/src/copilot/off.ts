import { COPILOT_AGENT } from './agent.ts';

/** Why there is no copilot to talk to. */
export type OffReason =
  | 'not-permitted'
  | 'switched-off'
  | 'too-old'
  | 'no-provider'
  | 'no-model'
  | 'does-not-load'
  | 'not-running'
  | 'unreachable'
  | 'no-direct-connection'
  | 'no-deployment';

export interface OffText {
  title: string;
  text: string;
  /** The screens on which that is changed. */
  screens?: readonly { to: string; search?: Record<string, string>; title: string }[];
}

const SETTINGS = { to: '/settings', title: 'Open Settings' };
const CATALOG = {
  to: '/catalog',
  search: { system: '1', open: `agent/${COPILOT_AGENT}` },
  title: 'Open its entry in the Catalog',
};

export const OFF: Record<OffReason, OffText> = {
  'not-permitted': {
    title: 'The copilot is not open to you',
    text: 'Your role does not hold copilot:use. An owner of the organization can give you another one.',
  },
  'switched-off': {
    title: 'The copilot is switched off',
    text: 'An owner or an admin switches it on in Settings. What was said to it is kept.',
    screens: [SETTINGS],
  },
  'too-old': {
    title: 'This box is too old for the copilot',
    text: 'It speaks an older version of the protocol than the copilot of this dashboard needs. Update the box.',
  },
  'no-provider': {
    title: 'There is no model provider',
    text: 'The copilot answers once the box has a provider to ask. An owner or an admin sets it in Settings.',
    screens: [SETTINGS],
  },
  'no-model': {
    title: 'No model is selected for the copilot',
    text: 'Choose a default model in Settings, or a model of its own on its entry in the Catalog.',
    screens: [SETTINGS, CATALOG],
  },
  'does-not-load': {
    title: 'The copilot of this workspace does not load',
    text: 'The folder deep-agents/studio-copilot replaces the built-in one.',
    screens: [CATALOG],
  },
  'not-running': {
    title: 'The box is not running',
    text: 'Start it again with svc dev. The page goes on by itself.',
  },
  unreachable: {
    title: 'The box cannot be reached',
    text: 'It may have stopped, or the connection is lost. It is tried again by itself.',
  },
  'no-direct-connection': {
    title: 'There is no direct connection to the box',
    text: 'This page calls the box itself, and its address does not answer here. See whether it can be reached from where you sit, and whether SVC_CORS_ALLOW_ORIGINS names this dashboard.',
  },
  'no-deployment': {
    title: 'The copilot is off',
    text: 'It needs a box that is deployed and registered.',
  },
};
