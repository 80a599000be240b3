#!/usr/bin/env node
import { runBox } from './dist/host.mjs';

process.exitCode = await runBox(process.argv.slice(2), process.env);
// A timer of the workspace's own code must not keep a stopped box alive.
setTimeout(() => process.exit(), 200).unref();
