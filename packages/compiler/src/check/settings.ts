import { positionOf } from '../ast.ts';
import { exportNameOf } from '../exports.ts';
import type { Finding } from '../finding.ts';
import { isWorkflow } from '../functions.ts';
import type { MarkedFunction } from '../functions.ts';
import type { Exported } from '../replay-facts.ts';

/** What a workflow can be given beside its function: exported, or assigned to the function. */
export const SETTINGS: ReadonlySet<string> = new Set([
  'inputSchema',
  'outputSchema',
  'stateSchema',
  'durability',
  'mode',
  'serial',
  'cleanup',
  'timeout',
  'schedules',
  'on',
]);

/** Settings a file exports belong to its workflow; where it has several, it is not known to which. */
export function checkSettings(marked: MarkedFunction[], exported: Exported[]): Finding[] {
  const workflows = marked.filter((one) => isWorkflow(one) && exportNameOf(one, exported) !== null);
  const [first] = workflows;
  if (!first || workflows.length === 1) return [];
  return exported
    .filter(({ name }) => SETTINGS.has(name))
    .map(({ name, node }) => {
      const message = `"${name}" is exported beside ${workflows.length} workflows, so it does not say whose it is. Assign it to the function it is meant for: ${first.path ?? 'refund'}.${name} = ...`;
      return { code: 'workflow_settings_unclear', message, ...positionOf(node) };
    });
}
