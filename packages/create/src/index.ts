export { addPart } from './add.ts';
export type { Added, AddKind, AddOptions } from './add.ts';
export { createWorkspace } from './create.ts';
export type { Created, CreateOptions } from './create.ts';
export { CommandError } from './errors.ts';
export { init } from './init.ts';
export type { InitOptions } from './init.ts';
