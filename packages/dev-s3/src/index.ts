export { startObjectServer } from './server.ts';
export type { ObjectServer, ObjectServerOptions } from './server.ts';
