// What a host of the control plane imports: `svc plane`, and its own bin.
export { backUpToFile, restoreFromFile } from './backup-file.ts';
export { openKeyFile } from '../../runtime/src/secrets/master-key.ts';
export { readSettings, VARIABLES } from './config.ts';
export type { Settings, Variable } from './config.ts';
export { ERROR_STATUS, PlaneError } from './errors.ts';
export { runPlane } from './main.ts';
export { errorsOf, toSchema } from './openapi.ts';
export { createPlane } from './plane.ts';
export type { Plane, PlaneOptions } from './plane.ts';
export { resetPassword, rotateKeys } from './recovery.ts';
export { createRelay } from './tunnel/relay.ts';
export type { Relay, RelayOptions } from './tunnel/relay.ts';
