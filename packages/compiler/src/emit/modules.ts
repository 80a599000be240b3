import { headerOf } from './_text.ts';

// The packages of the Workflow SDK a workflow file imports from.
const NAMES = ['workflow', 'workflow/api', 'workflow/errors', '@workflow/errors', '@workflow/serde'];

/**
 * `.svc/modules.d.ts`: the other names of the runtime. A file of its own, because a module may only be declared in a
 * file that is none; `workflows.d.ts` refers to it.
 */
export function emitModulesTypes(): string {
  const modules = NAMES.map((name) => `declare module '${name}' {\n  export * from '@svc/runtime';\n}`);
  return [headerOf(), ...modules, ''].join('\n');
}
