import type { Group } from '../src/group.ts';
import * as main from '../src/main.ts';
import type { CliResult } from '../src/main.ts';
import type { CaptureOptions } from '../src/terminal/terminal.ts';
import { checkPrinted } from './_documents.ts';

/**
 * Runs a command in process. Whatever a test runs with --json is held to docs/reference/payloads.json on the way, unless
 * it is of another command line, which `root` is.
 */
export async function runCli(argv: string[], options: CaptureOptions = {}, root?: Group): Promise<CliResult> {
  const result = await main.runCli(argv, options, root);
  if (root === undefined) await checkPrinted(argv, result);
  return result;
}
