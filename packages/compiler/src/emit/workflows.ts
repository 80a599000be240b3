import type { Manifest, WorkflowEntry } from '@svc/runtime/host';
import { emitRegister, headerOf, SCHEMA_TYPES, specifierOf } from './_text.ts';

/** `.svc/workflows.d.ts`: what each workflow takes, gives and publishes, by name. */
export function emitWorkflowsTypes({ workflows }: Manifest): string {
  const imports = workflows.flatMap(({ file, exportName }, i) =>
    exportName === null ? [] : [`import type * as w${i} from ${specifierOf(file)};`],
  );
  const parts = [
    headerOf('workflows/'),
    '/// <reference path="./modules.d.ts" />',
    ...imports,
    '',
    SCHEMA_TYPES,
    FUNCTION_TYPES,
    '',
    emitRegister('WorkflowRegister', workflows.map(emitMember)),
    '',
    'export {};',
    '',
  ];
  return parts.join('\n');
}

// --- internal ---

// `any`, not `unknown`: only then is a parameter read without the result, and workflows that start each other are no circle.
const FUNCTION_TYPES = `type First<F> = F extends (...args: infer A) => any ? (A extends [] ? undefined : A[0]) : unknown;
type Result<F> = F extends (...args: never[]) => infer R ? Awaited<R> : unknown;`;

function emitMember(entry: WorkflowEntry, i: number): string {
  const { name, exportName, hasInputSchema, hasOutputSchema, hasStateSchema, settings } = entry;
  const key = JSON.stringify(name);
  if (exportName === null) return `    ${key}: { input: unknown; output: unknown; state: unknown };`;
  const toSchema = (setting: string) => (settings?.includes(setting) ? `${exportName}.${setting}` : setting);
  const input = hasInputSchema ? `Input<typeof w${i}.${toSchema('inputSchema')}>` : `First<typeof w${i}.${exportName}>`;
  const output = hasOutputSchema
    ? `Output<typeof w${i}.${toSchema('outputSchema')}>`
    : `Result<typeof w${i}.${exportName}>`;
  const state = hasStateSchema ? `Output<typeof w${i}.${toSchema('stateSchema')}>` : 'unknown';
  return `    ${key}: { input: ${input}; output: ${output}; state: ${state} };`;
}
