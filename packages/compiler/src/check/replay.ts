import type { ProblemCode } from '../problem-codes.ts';
import { followTarget, listReached, modulesOf } from '../reach.ts';
import type { Link, Modules, Reached } from '../reach.ts';
import { findAdvice } from '../replay-table.ts';
import type { Scan } from '../scan.ts';
import { workflowFileName } from '../workflow-names.ts';
import { isStateChange } from '../states.ts';
import type { CallFacts, WriteFacts } from '../replay-facts.ts';
import type { FoundIn } from './frame.ts';

/**
 * A body runs again on every replay: it may not call what a replay cannot repeat, nor change what a module holds, and
 * no function it reaches may. A problem stands in the workflow's own file, so that only this workflow has it.
 */
export function checkReplay(scan: Scan): FoundIn[] {
  const modules = modulesOf(scan);
  return Object.keys(scan.files).flatMap((file) => checkFile(file, modules));
}

// --- internal ---

function checkFile(file: string, modules: Modules): FoundIn[] {
  const found = new Map<string, FoundIn>();
  for (const reached of listReached(file, modules)) {
    const workflow = nameOf(file, reached);
    for (const problem of [...checkCalls(reached, workflow, modules), ...checkWrites(reached, workflow, modules)]) {
      const place = [...reached.chain, problem.link].findLast((link) => link.file === file) ?? problem.link;
      const { code, message } = problem;
      const { line, column } = place;
      // The nearest one is enough: whoever looks at the place finds the others behind it.
      const key = `${code} ${line}:${column}`;
      if (!found.has(key)) found.set(key, { code, message, file, line, column });
    }
  }
  return [...found.values()];
}

interface Problem {
  code: ProblemCode;
  message: string;
  link: Link;
}

function nameOf(file: string, { body }: Reached): string {
  return body.name === 'default' ? (workflowFileName(file) ?? file) : body.name;
}

function checkCalls({ file, unit, chain }: Reached, workflow: string, modules: Modules): Problem[] {
  return unit.calls.flatMap((call) => {
    const target = followTarget({ file, target: call.target }, modules)?.target;
    const advice = target && findAdvice(target);
    if (!target || !advice) return [];
    const link = toLink(call, file);
    const source = target.from === 'globalThis' ? '' : ` of "${target.from}"`;
    const message = `${call.label}()${source} cannot be used in the body of the workflow "${workflow}", because a replay could not repeat it. ${advice}.${wayTo([...chain, { ...link, label: `${call.label}()` }])}`;
    return [{ code: 'workflow_not_replayable', message, link }];
  });
}

function checkWrites({ file, unit, chain }: Reached, workflow: string, modules: Modules): Problem[] {
  return unit.writes.flatMap((write) => {
    if (!isModuleState(write, file, modules)) return [];
    const link = toLink(write, file);
    const what = write.isAssigned ? 'assigned' : 'changed';
    const message = `"${write.label}" belongs to the module and is ${what} in the body of the workflow "${workflow}". A replay runs the body again, so the value would differ: keep it in a local variable, or return it from a step.${wayTo([...chain, { ...link, label: describe(write) }])}`;
    return [{ code: 'workflow_module_state', message, link }];
  });
}

function isModuleState({ target, method, isAssigned }: WriteFacts, file: string, modules: Modules): boolean {
  if (isAssigned || target.from === undefined) return true;
  const place = followTarget({ file, target }, modules);
  if (!place || place.target.from !== undefined) return false;
  const states = modules.read(place.file)?.replay?.states;
  return states !== undefined && isStateChange(states, place.target.path, method);
}

function describe({ label, method, isAssigned }: WriteFacts): string {
  if (method !== undefined) return `${label}.${method}()`;
  return isAssigned ? `${label} is assigned` : `${label} is changed`;
}

function toLink({ label, line, column }: CallFacts | WriteFacts, file: string): Link {
  return { label, file, line, column };
}

/** ` The way there: load() at a.ts:3 -> fetch() at b.ts:9.` Nothing for what is in the body itself. */
function wayTo(chain: Link[]): string {
  if (chain.length === 1) return '';
  const last = chain.length - 1;
  const links = chain.map(({ label, file, line }, i) => `${i === last ? label : `${label}()`} at ${file}:${line}`);
  return ` The way there: ${links.join(' -> ')}.`;
}
