import { describe, expect, it } from 'vitest';
import { NODE_VERSIONS, nodeBinary } from '../../../../scripts/node-matrix.mjs';
import { useRig } from './_setup.ts';

const rig = useRig();
/** Fetching a Node takes a while, the first time. */
const FETCH_MS = 300_000;

/** The drivers that may be taken on a Node. The native one is built for the Node the packages were installed with. */
function driversOf(version: string): string[] {
  const major = Number(version.split('.')[0]);
  const others = major < 22 ? ['@photostructure/sqlite'] : ['node:sqlite'];
  return major === Number(process.versions.node.split('.')[0]) ? ['better-sqlite3', ...others] : others;
}

describe('svc dev', () => {
  it.each(NODE_VERSIONS)(
    'boots, chats, runs a workflow and stops on Node %s',
    { timeout: FETCH_MS },
    async (version) => {
      const node = await nodeBinary(version);
      const workspace = await rig.workspace();
      const box = await workspace.boot({ node, json: false });
      expect(await box.chat('echo', 'tool:answer {}')).toContain('agent-1 word-1');
      const { runId } = await box.start('greet', { name: 'Ada' });
      expect((await box.finish(runId)).output).toBe('workflow-1 hello-1 Ada');
      const [, driver = ''] = /^ {2}Journal +SQLite \((.+)\)$/m.exec(box.stdout()) ?? [];
      expect(driversOf(version)).toContain(driver);
      expect(box.stderr()).toBe('');
      expect(await box.stop()).toMatchObject({ code: 0, signal: null });
    },
  );
});
