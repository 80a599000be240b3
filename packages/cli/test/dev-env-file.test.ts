import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readEnvFile, useEnvFile } from '../src/dev/env-file.ts';
import { startDev } from '../src/dev/start.ts';
import { eventually, useRig } from './e2e/_setup.ts';
import { SLOW_MS } from './_schema-dev.ts';

const rig = useRig();

function makeFolder(text?: string | Buffer): string {
  const root = mkdtempSync(join(tmpdir(), 'svc-env-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  if (text !== undefined) writeFileSync(join(root, '.env'), text);
  return root;
}

/** What is set, and what is said. */
async function use(root: string, { env = {}, verbose = false }: { env?: NodeJS.ProcessEnv; verbose?: boolean } = {}) {
  const said: string[] = [];
  await useEnvFile({ root, env, verbose, say: (line) => void said.push(line) })();
  return said;
}

describe('the .env of a workspace', () => {
  it(
    'is the environment of svc dev and of the code it runs, until it ends',
    async () => {
      const workspace = await rig.workspace({ 'lib/word.ts': `export const word = process.env.SOME_WORD;\n` });
      const values = { ...workspace.env, MODEL_PROVIDER_BASE_URL: rig.model().url, SOME_WORD: 'from-the-file' };
      workspace.write(
        '.env',
        Object.entries(values)
          .map((entry) => entry.join('='))
          .join('\n'),
      );
      const said: string[] = [];
      const say = (line: string) => void said.push(line);
      const server = await startDev({ root: workspace.root, listen: false, json: true, verbose: false, say });
      onTestFinished(() => server.close());
      expect(server.payload).toMatchObject({
        agent_url: `http://127.0.0.1:${workspace.ports.api}`,
        gate: { open: true, reason: 'model-provider-env' },
      });
      expect(said).toEqual(['3 variables come from .env.']);
      const box = workspace.talkTo({ stdout: () => '' } as never, { port: workspace.ports.api });
      expect(await box.chat('echo', 'tool:answer {}')).toContain('agent-1 from-the-file');

      workspace.edit('.env', 'from-the-file', 'another');
      await eventually(() => said.includes('.env has changed. Restart svc dev to use it.'), { within: 30_000 });
      expect(await box.chat('echo', 'tool:answer {}')).toContain('agent-1 from-the-file');
      await server.close();
      expect(process.env.SOME_WORD).toBeUndefined();
    },
    SLOW_MS,
  );

  it('gives way to what the environment sets, and is named without its values', async () => {
    const root = makeFolder('export A=one-secret\nB="two\nlines"\n# C=3\n\n');
    const env: NodeJS.ProcessEnv = { A: '' };
    const undo = useEnvFile({ root, env, verbose: false, say: () => {} });
    expect(env).toEqual({ A: '', B: 'two\nlines' });
    await undo();
    expect(env).toEqual({ A: '' });
    expect(await use(root, { env: { A: '1' } })).toEqual([
      '1 of the 2 variables in .env are used; the environment sets the others.',
    ]);
    expect(await use(root)).toEqual(['2 variables come from .env.']);
    expect(await use(root, { verbose: true })).toEqual(['2 variables come from .env: A, B.']);
  });

  it('is nothing to speak of where there is none, or a folder', async () => {
    const root = makeFolder();
    expect(await use(root)).toEqual([]);
    mkdirSync(join(root, '.env'));
    expect(await use(root)).toEqual([]);
  });

  it('with lines that set nothing is read all the same, and the lines are named by number', async () => {
    const root = makeFolder('\uFEFFA=1\r\nsk-secret\r\nB=2 # b\r\nFOO BAR=3\r\n');
    expect(readEnvFile(root).values).toEqual({ A: '1', B: '2' });
    const [warning, used] = await use(root);
    expect(warning).toBe('Lines 2, 4 of .env set no variable. Write NAME=value, or begin a comment with "#".');
    expect(used).toBe('2 variables come from .env.');
    const multiline = makeFolder('KEY="-----BEGIN\nabc\n-----END"\nB=1\n');
    expect(readEnvFile(multiline)).toEqual({ values: { KEY: '-----BEGIN\nabc\n-----END', B: '1' } });
  });

  it('that is no text, or cannot be read, is one error before anything starts', async () => {
    const root = makeFolder(Buffer.from('A=1\n', 'utf16le'));
    const options = { root, listen: false, json: true, verbose: false, env: {} };
    writeFileSync(join(root, 'svc.json'), '{}');
    await expect(startDev(options)).rejects.toMatchObject({
      code: 'generic',
      message: `"${join(root, '.env')}" is no text in UTF-8.`,
    });
    rmSync(join(root, '.env'));
    // For anyone, root included, a link that leads to itself cannot be read.
    symlinkSync('.env', join(root, '.env'));
    await expect(startDev(options)).rejects.toMatchObject({
      code: 'generic',
      message: expect.stringContaining('cannot be read: ELOOP'),
    });
  });
});
