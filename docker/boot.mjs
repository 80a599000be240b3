// @ts-check
/** Pid 1 of a box: boots the bundle in /workspace, or the folder it is given. Ends with 1 and the reason when it cannot. */
// @ts-expect-error In the image the runtime lies beside this file.
import { runBox } from './runtime/dist/host.mjs';

process.exitCode = await runBox([process.argv[2] ?? '/workspace'], process.env);
// A timer of the workspace's own code must not keep a stopped box alive.
setTimeout(() => process.exit(), 200).unref();
