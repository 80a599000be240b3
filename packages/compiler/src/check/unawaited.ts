import type { Problem } from '@svc/runtime/host';
import { isStepOrWait, listReached, modulesOf } from '../reach.ts';
import type { CallFacts } from '../replay-facts.ts';
import { isWait } from '../replay-table.ts';
import { createScanner } from '../scan.ts';
import type { Scan } from '../scan.ts';
import { toProblems } from './frame.ts';
import type { FoundIn } from './frame.ts';

/**
 * Calls of steps and waits that a workflow body, or a function it reaches, makes as a statement of their own and does
 * not await. Such a workflow runs; `void` before the call says that it is meant.
 */
export async function findUnawaited({ root }: { root: string }): Promise<Problem[]> {
  return toProblems(root, checkUnawaited(await createScanner({ root }).scan()));
}

/** The same of a scan. */
export function checkUnawaited(scan: Scan): FoundIn[] {
  const modules = modulesOf(scan);
  const found = new Map<string, FoundIn>();
  for (const reached of Object.keys(scan.files).flatMap((file) => listReached(file, modules)))
    for (const call of reached.unit.dropped ?? [])
      if (isStepOrWait({ file: reached.file, target: call.target }, modules)) {
        const { file } = reached;
        const { line, column } = call;
        found.set(`${file}:${line}:${column}`, {
          code: 'step_not_awaited',
          message: explain(call),
          file,
          line,
          column,
        });
      }
  return [...found.values()];
}

// --- internal ---

function explain({ label, target }: CallFacts): string {
  const what = isWait(target) ? 'It waits for nothing' : 'The workflow goes on without it, and does not see it fail';
  return `${label}() is not awaited. ${what}: write "await ${label}(...)", or "void ${label}(...)" where that is meant.`;
}
