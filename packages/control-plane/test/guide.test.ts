import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { makeFolder, startPlane } from './_setup.ts';

const PAGE = new URL('../../../docs/guide/teams.md', import.meta.url);

/** What each block prints, in the order of the page. `serve` stays, and the control plane of this test is there in its place. */
const FACTS: Record<string, RegExp> = {
  signup: /"organization":\{"id":"[^"]+","slug":"acme","name":"Acme","role":"owner"/,
  organization: /"organization":\{"id":"[^"]+","slug":"umbrella"/,
  invite: /"email":"bo@example\.com","role":"member".*"url":"http:[^"]+\/invite#svi_/,
  join: /"organization":\{"id":"[^"]+","slug":"umbrella","name":"Umbrella","role":"member"/,
  members: /"role":"admin".*"items":\[.*"email":"ada@example\.com".*"email":"bo@example\.com"/s,
  installation: /"name":"refund-desk","organizationId":"[^"]+","createdAt":"[^"]+","deployment":null/,
  token: /"items":\[\{"id":"[^"]+","name":"refund-desk"/,
  audit: /"items":\[\{"id":"[^"]+","action":"tokens\.create","actor":"bo@example\.com"/,
  delete: /^\s*401\s*$/,
};

test('the page about teams does what it says, block by block', async () => {
  const plane = await startPlane();
  const blocks = [...readFileSync(PAGE, 'utf8').matchAll(/^```sh (\S+)\n([^]*?)^```$/gm)];
  const run = blocks.filter(([, name = '']) => !['serve', 'verbs'].includes(name));
  expect(run.map(([, name]) => name)).toStrictEqual(Object.keys(FACTS));
  const script = run.map(([, , text]) => `${text}\necho; echo '-- end --'\n`).join('');
  const { stdout } = await promisify(execFile)('sh', ['-euc', script], {
    cwd: makeFolder(),
    env: { ...process.env, PLANE: plane.url },
  });
  const printed = stdout.split('-- end --');
  for (const [index, [name, fact]] of Object.entries(FACTS).entries())
    expect([name, printed[index]]).toEqual([name, expect.stringMatching(fact)]);
});
