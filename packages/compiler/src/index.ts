/** What the CLI and tools build on. */
export { checkWorkspace } from './check/check.ts';
export type { CheckOptions } from './check/check.ts';
export { transformDirectives } from './directives.ts';
export type { TransformOptions, TransformResult } from './directives.ts';
export type { RuntimeHost } from './host-modules.ts';
export { PROBLEM_CODES } from './problem-codes.ts';
export type { ProblemCode } from './problem-codes.ts';
export { createScanner, scanWorkspace } from './scan.ts';
export type { Scan, Scanner, ScannerOptions } from './scan.ts';
export { syncWorkspace } from './sync.ts';
export type { SyncOptions, SyncResult } from './sync.ts';
export { svcPlugin } from './vite-plugin.ts';
export type { SvcPluginOptions } from './vite-plugin.ts';
