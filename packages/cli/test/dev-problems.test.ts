import { rmSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { bootSaying } from './_dev-said.ts';
import { useRig } from './e2e/_setup.ts';
import { SLOW_MS } from './_schema-dev.ts';

const rig = useRig();

const STEPS = `export async function sendPayment() {
  'use step';
  return 1;
}
`;
const refund = (name: string, call: string) => `// Gives money back.

import { ${name} } from '../lib/steps.ts';

export async function refund() {
  'use workflow';
  ${call};
}
`;

describe('svc dev shows what svc check shows', () => {
  it(
    'a misspelt import, a step that is not awaited, a workflow there is none of: after the edit, and that each is gone',
    async () => {
      const workspace = await rig.workspace({
        'lib/steps.ts': STEPS,
        'workflows/refund.workflow.ts': refund('sendPayment', 'await sendPayment()'),
      });
      const { said, heard } = await bootSaying(rig, workspace);
      const write = (name: string, call: string) => {
        const from = said.length;
        workspace.write('workflows/refund.workflow.ts', refund(name, call));
        return from;
      };
      let from = write('sendPaymnt', 'await sendPaymnt()');
      const missing = await heard(/export_missing/, from);
      expect(missing).toMatch(
        /^workflows\/refund\.workflow\.ts:3:10 export_missing: "lib\/steps\.ts" exports no "sendPaymnt"\. Did you mean "sendPayment"\?\n/,
      );
      expect(missing).toContain("> 3 | import { sendPaymnt } from '../lib/steps.ts';");

      from = write('sendPayment', 'sendPayment()');
      await heard(/^no longer wrong: workflows\/refund\.workflow\.ts \(export_missing\)$/, from);
      expect(await heard(/step_not_awaited/, from)).toMatch(/^workflows\/refund\.workflow\.ts:7:3 step_not_awaited: /);
      // What is found is said once the edit is in force.
      const lines = said.slice(from);
      const placeOf = (text: string) => lines.findIndex((line) => line.includes(text));
      expect(placeOf('reloaded')).toBeLessThan(placeOf('step_not_awaited: '));

      // Another edit does not print it again: one line says that it is there.
      from = said.length;
      workspace.edit('lib/word.ts', 'word-1', 'word-2');
      // On a busy machine the edit before it is seen once more, and goes with it.
      await heard(/^reloaded (?:workflows\/refund\.workflow\.ts, )?lib\/word\.ts/, from);
      expect(await heard(/from before/, from)).toBe(
        '1 problem from before: workflows/refund.workflow.ts:7:3 step_not_awaited',
      );
      expect(said.slice(from).join('\n')).not.toContain('> 7 |');

      from = write('sendPayment', 'await sendPayment()');
      await heard(/^no longer wrong: .*step_not_awaited/, from);

      from = said.length;
      workspace.write(
        'lib/steps.ts',
        `import { svc } from '@svc/runtime';\n${STEPS}export const go = () => svc.workflows.start('refnd', {});\n`,
      );
      expect(await heard(/workflow_unknown/, from)).toMatch(
        /^lib\/steps\.ts:6:\d+ workflow_unknown: This workspace has no workflow "refnd", so the call fails\. Did you mean "refund"\?/,
      );
    },
    SLOW_MS,
  );

  it(
    'at its start, too',
    async () => {
      const workspace = await rig.workspace({
        'lib/steps.ts': STEPS,
        'workflows/refund.workflow.ts': refund('sendPayment', 'sendPayment()'),
      });
      const { heard } = await bootSaying(rig, workspace);
      expect(await heard(/step_not_awaited/)).toContain('workflows/refund.workflow.ts:7:3');
    },
    SLOW_MS,
  );
});

describe('svc dev says what is wrong now', () => {
  it(
    'and nothing of a file that is replaced, as a checkout does it',
    async () => {
      const workspace = await rig.workspace();
      const { said, heard } = await bootSaying(rig, workspace);
      const good = workspace.read('deep-agents/echo/index.ts');
      for (let round = 1; round <= 5; round++) {
        const from = said.length;
        rmSync(workspace.path('deep-agents/echo/index.ts'));
        // As long as a busy disk takes to write the file that comes in its place.
        await new Promise((done) => setTimeout(done, 20));
        workspace.write('deep-agents/echo/index.ts', good.replace('agent-1', `agent-${round}`));
        await heard(/^reloaded deep-agents\/echo\/index\.ts/, from);
      }
      expect(said.join('\n')).not.toContain('agent_entry_missing');
    },
    SLOW_MS,
  );

  it(
    'and that a problem went with its file',
    async () => {
      const workspace = await rig.workspace();
      const { said, heard } = await bootSaying(rig, workspace);
      workspace.write('deep-agents/odd/helper.ts', 'export const odd = 1;\n');
      await heard(/agent_entry_missing/);
      const from = said.length;
      workspace.remove('deep-agents/odd');
      expect(await heard(/no longer wrong/, from)).toBe(
        'no longer wrong: deep-agents/odd/helper.ts (agent_entry_missing)',
      );
    },
    SLOW_MS,
  );
});
