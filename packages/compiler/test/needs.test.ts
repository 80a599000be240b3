import { expect, it } from 'vitest';
import { contractPayload } from '../../runtime/src/health/contract.ts';
import { svc } from '../../runtime/src/index.ts';
import { CAPABILITIES, findNeeds } from '../src/needs.ts';
import { createWorkspace } from './_setup.ts';

const WORKFLOW = `import '../lib/use.ts';\nexport async function uses() {\n  'use workflow';\n}\n`;

it.each([
  ['by its name', `import { svc } from '@svc/runtime';\n\nexport const use = () => svc.storage.put();\n`],
  ['in the namespace', `import * as runtime from '@svc/runtime';\n\nexport const use = () => runtime.svc.storage;\n`],
  ['renamed and taken apart', `import { svc as box } from 'workflow';\n\nconst { storage } = box; void storage;\n`],
])('the client is found %s', async (_, text) => {
  const root = createWorkspace({ 'lib/use.ts': text, 'workflows/uses.workflow.ts': WORKFLOW });
  expect(await findNeeds(root)).toMatchObject([
    { capability: 'storage.s3', label: 'svc.storage', file: 'lib/use.ts', line: 3 },
  ]);
});

it.each([
  ['of another module', `import { svc } from './other.ts';\nexport const use = () => svc.storage;\n`],
  ['in a comment', `// svc.storage\nexport const use = 1;\n`],
  [
    'that every box has',
    `import { svc } from '@svc/runtime';\nexport const use = () => svc.workflows; // not storage\n`,
  ],
  ['in a file that does not parse', `import { svc } from '@svc/runtime';\nconst = svc.storage;\n`],
])('a name %s is no need', async (_, text) => {
  const root = createWorkspace({ 'lib/use.ts': text, 'workflows/uses.workflow.ts': WORKFLOW });
  expect(await findNeeds(root)).toEqual([]);
});

it('an agent needs a model', async () => {
  const root = createWorkspace({
    'deep-agents/echo/index.ts': `import { defineDeepAgent } from '@svc/runtime';\nexport default defineDeepAgent({ name: 'echo' });\n`,
  });
  expect(await findNeeds(root)).toMatchObject([{ capability: 'ai.modelgateway', file: 'deep-agents/echo/index.ts' }]);
});

it.each(Object.entries(CAPABILITIES))('%s is there, or no box offers it', (path, capability) => {
  const isThere = Object.hasOwn(svc, path.replace('svc.', ''));
  expect(isThere).toBe(contractPayload().capabilities.includes(capability));
});

it('every member of the client that not every box has is a need', () => {
  // What runs in any box: its own runs and their logs.
  const always = [
    'agent',
    'connection',
    'context',
    'continueAsNew',
    'events',
    'log',
    'publish',
    'version',
    'workflows',
  ];
  const needed = Object.keys(CAPABILITIES).map((path) => path.replace('svc.', ''));
  expect(
    Object.keys(svc)
      .filter((name) => !needed.includes(name))
      .sort(),
  ).toEqual(always);
});
