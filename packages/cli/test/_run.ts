import * as main from '../src/main.ts';
import type { CliResult } from '../src/main.ts';
import type { CaptureOptions } from '../src/terminal/terminal.ts';
import { checkPrinted } from './_documents.ts';

/** Runs a command in process. Whatever a test runs with --json is held to docs/reference/payloads.json on the way. */
export async function runCli(argv: string[], options: CaptureOptions = {}): Promise<CliResult> {
  const result = await main.runCli(argv, options);
  await checkPrinted(argv, result);
  return result;
}
