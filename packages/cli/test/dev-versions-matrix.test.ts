import { expect, it, onTestFinished, vi } from 'vitest';
import { EDITS, filesOf } from '../../runtime/test/_version-edits.ts';
import type { Asked, Files } from '../../runtime/test/_version-edits.ts';
import { expectedEnds, expectedTold, finishAll, parkAll, toldOf } from '../../runtime/test/_version-matrix.ts';
import { startQuietDev } from './_quiet-dev.ts';
import { SLOW_MS } from './_schema-dev.ts';
import { eventually, useRig } from './e2e/_setup.ts';

// Every kind of edit under svc dev, all of them at once, for runs that wait in every way.

const rig = useRig();

/** No one edits those under a running box: a package is installed with it ended. */
const edits = EDITS.filter(({ workflow }) => workflow !== 'packages');
const isEdited = (file: string): boolean => !file.startsWith('node_modules/') && !file.includes('/packages.');
const filesWithout = (version: 1 | 2): Files =>
  Object.fromEntries(Object.entries(filesOf(version)).filter(([file]) => isEdited(file)));

it(
  `${edits.length} kinds of edits: each run ends on the code it began with`,
  async () => {
    onTestFinished(() => void vi.unstubAllEnvs());
    vi.stubEnv('SVC_MATRIX_TODAY', 'yesterday');
    const workspace = await rig.workspace(filesWithout(1) as Record<string, string>);
    const server = await startQuietDev(rig, workspace);
    const send = async (route: string, body?: unknown): Promise<Record<string, unknown>> => {
      const [method = '', path = ''] = route.split(' ');
      const headers = { 'content-type': 'application/json' };
      const init = body === undefined ? { method } : { method, headers, body: JSON.stringify(body) };
      return (await (await fetch(server.payload.agent_url + path, init)).json()) as Record<string, unknown>;
    };
    const runs = await parkAll(send, edits);
    vi.stubEnv('SVC_MATRIX_TODAY', 'today');
    for (const [file, text] of Object.entries(filesWithout(2)))
      if (text === null) workspace.remove(file);
      else workspace.write(file, text);
    const listed = async () => JSON.stringify(await send('GET /api/workflows'));
    await eventually(async () => !(await listed()).includes('"deletes"'), { within: 30_000 });
    const before = rig.model().requests.length;
    expect(await finishAll(send, runs)).toEqual(expectedEnds(runs, 'today'));
    const turns = runs.filter(({ park }) => park === 'turn');
    expect(toldOf(turns, rig.model().requests.slice(before) as unknown as Asked[])).toEqual(expectedTold(turns));
  },
  SLOW_MS,
);
