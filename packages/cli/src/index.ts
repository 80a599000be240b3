export { startDev } from './dev/start.ts';
export type { DevOptions, DevServer } from './dev/start.ts';
