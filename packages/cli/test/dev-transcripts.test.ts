import { rmSync } from 'node:fs';
import { expect, it } from 'vitest';
import { SQLITE_DRIVERS } from '../../runtime/src/engine/stores/sqlite/driver.ts';
import { useRig } from './e2e/_setup.ts';
import type { Box, Workspace } from './e2e/_setup.ts';
import { settleIds, startTranscript, WIDTHS } from './_transcript.ts';

const rig = useRig();
const LONG_MS = 180_000;

it(
  'svc dev, and what is run beside it, print this',
  async () => {
    const workspace = await rig.workspace();
    const box = await workspace.boot({ json: false });
    await box.finish((await box.start('greet', { name: 'Ada' })).runId);
    const taken = await workspace.svc('dev');
    const other = await rig.workspace();
    const busy = await other.svc('dev', '--port', String(workspace.ports.api));
    for (const columns of WIDTHS) await runBeside(workspace, columns);
    const ended = await box.stop('SIGINT');
    expect(ended.code).toBe(0);
    const settle = (text: string) => settleDev(text, workspace).replaceAll(other.root, '/home/ada/work/more');
    for (const columns of WIDTHS) {
      const transcript = startTranscript({ columns });
      transcript.note(`$ svc dev\n${settle(showEnded(ended))}(exit ${ended.code}, after Ctrl-C)\n`);
      transcript.note(`$ svc dev\n${settle(showEnded(taken))}(exit ${taken.code})\n`);
      transcript.note(`$ svc dev --port 14242\n${settle(showEnded(busy))}(exit ${busy.code})\n`);
      await transcript.expectFile('dev');
    }
  },
  LONG_MS,
);

// --- internal ---

async function runBeside(workspace: Workspace, columns: number): Promise<void> {
  const settle = (text: string) => settleDev(text, workspace);
  const transcript = startTranscript({ columns, cwd: workspace.root, settle });
  await transcript.run(['workflows', 'list']);
  await transcript.run(['workflows', 'schema', 'greet']);
  await transcript.run(['workflows', 'schema', 'gret']);
  await transcript.run(['workflows', 'start', 'gret']);
  await transcript.run(['workflows', 'start', 'greet', '--input', '{name:Ada}']);
  await transcript.run(['workflows', 'start', 'greet', '--input-file', 'lib']);
  await transcript.run(['workflows', 'start', 'greet', '--input', '{"name":7}']);
  const { stdout } = await transcript.run(['workflows', 'start', 'greet', '--input', '{"name":"Ada"}', '--wait']);
  const id = /[\da-f]{8}-[\da-f-]{27}/.exec(stdout)?.[0] ?? '';
  // Not as a row of a table: how wide its columns are depends on how long the run took.
  await transcript.run(['runs', 'get', id]);
  await transcript.run(['why', id]);
  await transcript.run(['why', '00000000-0000-7000-8000-000000009999']);
  await transcript.run(['pull', 'run', id]);
  await transcript.run(['pull', 'run', id]);
  await transcript.run(['pull', 'run', id, '--out', 'lib', '--force']);
  await transcript.run(['replay', id]);
  await transcript.run(['replay', id, '--until', '0']);
  await transcript.run(['replay', 'gone.json']);
  await transcript.run(['replay', id, '--promote', 'greet.ts']);
  await transcript.run(['replay', id, '--promote', '.svc/greet.test.ts']);
  await transcript.run(['contract', 'show']);
  await transcript.expectFile('beside-dev');
  for (const path of ['.svc/runs', '.svc/greet.test.ts'])
    rmSync(workspace.path(path), { recursive: true, force: true });
}

function showEnded({ stdout, stderr }: Pick<Awaited<ReturnType<Box['stop']>>, 'stdout' | 'stderr'>): string {
  return `${stdout}${stderr.replaceAll(/^(?=.)/gm, '! ')}`;
}

/** Addresses and folders are shown as wide as they are. */
function settleDev(text: string, { root, ports }: Workspace): string {
  const shown = text
    .replaceAll(root, '/home/ada/work/shop')
    // The first driver that opens on this machine.
    .replace(new RegExp(`^(  Journal    SQLite )\\((?:${SQLITE_DRIVERS.join('|')})\\)$`, 'm'), '$1(better-sqlite3)')
    .replaceAll(new RegExp(`\\b${ports.api}\\b`, 'g'), '14242')
    .replace(/^( {2}Provider {3})http:\S+/m, '$1http://127.0.0.1:18080/v1')
    .replaceAll(/\b\d+[sm] ago\b/g, '1s ago')
    .replaceAll(/(postgres:\/\/postgres:)[\w-]+@/g, '$1<password>@')
    .replaceAll(`:${ports.database}`, ':15432')
    .replaceAll(`:${ports.objects}`, ':19000')
    .replaceAll(/\b(pid|process|kill) \d+/g, '$1 4711')
    .replaceAll(/\b\d+(?:\.\d+)? ?m?s\b(?! ago)/g, '1 ms')
    .replaceAll(/\b[\da-f]{32}\b/g, '0'.repeat(32));
  return settleIds(shown).replaceAll(/(?<!-)\b[\da-f]{12}\b/g, 'abcdef012345');
}
