export { startDev } from './dev/start.ts';
export type { DevOptions, DevServer } from './dev/start.ts';
export { CLI_CODES, EXIT, findSuggestion } from './errors.ts';
export { listGlobalFlags, listVerbs } from './help.ts';
export type { ArgumentSchema, VerbHelp, VerbReference } from './help.ts';
export { listPayloads } from './operate/payloads.ts';
export { listSpecs } from './operate/spec.ts';
