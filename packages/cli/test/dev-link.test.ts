import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { signUpFirst } from '../../control-plane/test/_people.ts';
import { startPlane } from '../../control-plane/test/_setup.ts';
import { makeHome } from './_home.ts';
import { logIn, QUICK_POLL_S } from './_plane.ts';
import { runCli } from './_run.ts';
import { makeProject, readError } from './_setup.ts';

describe('svc dev in a workspace that is not linked says how to work without a control plane', () => {
  const advise = async (env: Record<string, string>, cwd: string) => {
    const result = await runCli(['dev', '--json'], { env, cwd });
    const { code, suggestion } = readError(result);
    expect([result.exitCode, code]).toEqual([3, 'not_linked']);
    return suggestion;
  };

  it('that is the session, the variable, or both', async () => {
    const plane = await startPlane({ pollSeconds: QUICK_POLL_S });
    const { SVC_CONTROL_PLANE_URL = '', ...home } = makeHome(plane) as Record<string, string>;
    await logIn(plane, await signUpFirst(plane), { ...home, SVC_CONTROL_PLANE_URL });
    const cwd = await makeProject();
    expect(await advise(home, cwd)).toMatch(/or run `svc logout` to work without\.$/);
    const both = /or unset SVC_CONTROL_PLANE_URL and run `svc logout` to work without\.$/;
    expect(await advise({ ...home, SVC_CONTROL_PLANE_URL }, cwd)).toMatch(both);

    writeFileSync(join(cwd, '.env'), `SVC_CONTROL_PLANE_URL=${SVC_CONTROL_PLANE_URL}\n`);
    const inFile = /or remove SVC_CONTROL_PLANE_URL from \.env and run `svc logout` to work without\.$/;
    expect(await advise(home, cwd)).toMatch(inFile);

    expect(await runCli(['logout', '--json'], { env: home, cwd })).toMatchObject({ exitCode: 0 });
    const ended = await runCli(['dev', '--json'], { env: home, cwd });
    expect([ended.exitCode, readError(ended).code]).toEqual([2, 'not_signed_in']);
  });
});
