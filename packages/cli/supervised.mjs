// The process `svc dev` begins for runs that may have killed theirs: node supervised.mjs <workspace> --supervised
import { runSupervised } from './dist/index.mjs';

process.exitCode = await runSupervised(process.argv[2]);
// A timer of the workspace's own code, or a step under way, must not keep it alive.
setTimeout(() => process.exit(), 200).unref();
