import { randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { HAS_TERMINAL, runOnTerminal } from '../../../create/test/_terminal.ts';
import { createDatabase } from '../../../runtime/src/engine/stores/_clients.ts';
import { bothServers } from '../../../runtime/test/_cluster.ts';
import { describeWhen } from '../../../runtime/test/require.ts';
import { NODE_VERSIONS, nodeBinary } from '../../../../scripts/node-matrix.mjs';
import { empty, linkPackages } from './_scaffold.ts';
import { BIN, eventually, useRig } from './_setup.ts';
import type { Workspace } from './_setup.ts';

const rig = useRig();
const OWN = process.versions.node;
/** The one that runs the tests, the oldest that everything runs on, and the one that workspaces pin. */
const NODES = [...new Set([OWN, ...NODE_VERSIONS])];
/** Fetching a Node takes a while, the first time. */
const SLOW_MS = 300_000;

interface Newcomer {
  /** An empty folder. */
  workspace: Workspace;
  node: string;
  /** An empty folder. */
  home: string;
  env: Record<string, string>;
  /** Runs `svc … --json`, which has to succeed without a word on stderr, and answers its document. */
  svc(...argv: string[]): Promise<Record<string, unknown>>;
}

async function arrive(version: string): Promise<Newcomer> {
  const workspace = await rig.workspace();
  empty(workspace);
  const node = version === OWN ? process.execPath : await nodeBinary(version);
  const home = mkdtempSync(join(tmpdir(), 'svc-home-'));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const env = { ...workspace.env, HOME: home };
  return {
    workspace,
    node,
    home,
    env,
    async svc(...argv) {
      const ended = await workspace.command([...argv, '--json'], { node, env }).ended;
      expect(ended).toMatchObject({ code: 0, stderr: '' });
      return JSON.parse(ended.stdout) as Record<string, unknown>;
    },
  };
}

/** A chat, a run and an edit. */
async function develop({ workspace, node, env }: Newcomer): Promise<void> {
  const box = await workspace.boot({ node, env });
  expect(await box.chat('support', 'say:Here I am.')).toBe('Here I am.');
  const greet = async () => {
    const { runId } = await box.start('welcome', { name: 'Ada' });
    return ((await box.finish(runId)).output as { greeting: string }).greeting;
  };
  expect(await greet()).toBe('Welcome, Ada.');
  workspace.edit('workflows/welcome.workflow.ts', "'2s'", "'10ms'");
  workspace.edit('workflows/welcome.workflow.ts', 'Welcome, ', 'Hello, ');
  await eventually(async () => (await greet()) === 'Hello, Ada.', { within: 60_000 });
  // A run that sleeps as an edit comes goes on with its own code.
  const reloaded = String.raw`reloaded workflows/welcome\.workflow\.ts in \d+ ms`;
  const kept = String.raw`On with the code they began with: \d+ runs? of welcome\..*`;
  const said = expect.stringMatching(new RegExp(`^(?:(?:${reloaded}|${kept})\n)+$`)) as string;
  expect(await box.stop()).toMatchObject({ code: 0, signal: null, stderr: said });
}

describe('from an empty folder and an empty home, with --json', () => {
  it.each(NODES)(
    'init, add, dev, a chat, a run, an edit, build and package work on Node %s',
    async (version) => {
      const newcomer = await arrive(version);
      const { workspace, home, svc } = newcomer;
      await svc('init', '.', '--name', 'shop', '--with', 'workflow', '--no-install');
      await svc('add', 'agent', 'support');
      linkPackages(workspace);
      await develop(newcomer);
      expect(await svc('build')).toMatchObject({ workflows: ['welcome'], deepAgents: ['support'], problems: [] });
      expect(await svc('package')).toMatchObject({
        target: 'byoc',
        imageTag: 'svc-agent:latest',
        degradedWorkflows: [],
      });
      expect(existsSync(workspace.path('dist/deploy/docker-compose.yml'))).toBe(true);
      expect(readdirSync(home)).toEqual([]);
    },
    SLOW_MS,
  );
});

describeWhen(bothServers, 'what was built', ({ database, kv }) => {
  it.each(NODES)(
    'is started with svc start, serves, and stops with 0, on Node %s',
    async (version) => {
      const { workspace, node, env, svc } = await arrive(version);
      await svc('init', '.', '--name', 'shop', '--with', 'workflow', '--no-install');
      linkPackages(workspace);
      await svc('build');
      const { url, drop } = await createDatabase(database);
      onTestFinished(drop);
      const needed = {
        DATABASE_URL: url,
        WORKFLOW_KV_URL: kv,
        AGENT_ID: `shop-${randomBytes(6).toString('hex')}`,
        SVC_SECRET_KEY: randomBytes(32).toString('base64'),
        SVC_INSECURE_LOCAL: '1',
        MODEL_PROVIDER_BASE_URL: rig.model().url,
        PORT: String(workspace.ports.api),
      };
      const command = workspace.command(['start'], { node, env: { ...env, ...needed } });
      const over = command.ended.then(({ stderr }) => Promise.reject(new Error(stderr)));
      const serving = eventually(() => command.stdout().includes('workflows: welcome\n'), { within: 60_000 });
      await Promise.race([serving, over]);
      const box = workspace.talkTo(command, { port: workspace.ports.api });
      const { runId } = await box.start('welcome', { name: 'Ada' });
      expect((await box.finish(runId)).output).toMatchObject({ greeting: 'Welcome, Ada.' });
      over.catch(() => {});
      expect(await box.stop()).toMatchObject({ code: 0, signal: null });
    },
    SLOW_MS,
  );
});

describe.skipIf(!HAS_TERMINAL)('from an empty folder and an empty home, on a terminal', () => {
  it.each(NODES)(
    'the same commands ask nothing, and Ctrl-C ends svc dev with 0, on Node %s',
    async (version) => {
      const { workspace, node, home, env } = await arrive(version);
      const run = async (argv: string[], typed: Record<string, string> = {}) => {
        const options = { cwd: workspace.root, env, typed };
        const { code, shown } = await runOnTerminal([node, BIN, ...argv], options);
        expect({ code, shown }).toMatchObject({ code: 0 });
        return shown;
      };
      expect(await run(['init', '--name', 'shop', '--with', 'agent', '--yes', '--no-install'])).toContain(
        'Created shop in ',
      );
      expect(await run(['add', 'workflow', 'ask', '--calls', 'assistant'])).toContain('Added the workflow ask');
      linkPackages(workspace);
      const served = await run(['dev'], { '  Gate  ': '\x03' });
      expect(served).toContain(`http://127.0.0.1:${workspace.ports.api}`);
      expect(served).toContain('Agents and workflows are held back until a model provider is set.');
      expect(await run(['build'])).toMatch(/Built .*: 1 agent, 1 workflow/);
      // The line wraps wherever the length of its path has it.
      expect(await run(['package'])).toMatch(
        /Packaged\s+\S+\s+for\s+byoc:\s+1\s+agent,\s+1\s+workflow,\s+image\s+svc-agent:latest/,
      );
      expect(readdirSync(home)).toEqual([]);
    },
    SLOW_MS,
  );
});
