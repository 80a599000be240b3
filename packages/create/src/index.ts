export { CreateError, createWorkspace } from './create.ts';
export type { CreateOptions } from './create.ts';
