export { readOutline } from './complete/outline.ts';
export { startDev } from './dev/start.ts';
export type { DevOptions, DevServer } from './dev/start.ts';
export { CLI_CODES, EXIT, findSuggestion } from './errors.ts';
export { listGlobalFlags, listVerbs } from './help.ts';
export type { ArgumentSchema, VerbHelp, VerbReference } from './help.ts';
export { listSpecs } from './operate/spec.ts';
export { listPayloads } from './payload/payloads.ts';
