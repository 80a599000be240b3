import { spawn } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { vi } from 'vitest';
import { SHORT_LIVED } from '../../../scripts/_short-lived.mjs';
import { BIN } from './e2e/_setup.ts';
import type { Box, Command, Rig, Workspace } from './e2e/_setup.ts';

export const REPOSITORY = fileURLToPath(new URL('../../../', import.meta.url));

/** A fenced block of a page: ` ```<language> <name>`. */
export interface Block {
  /** `<page>#<name>`, the page without its folder. */
  id: string;
  language: string;
  /** A path for `ts`, `json` and `md`, a word for `sh`; empty when the block has none. */
  name: string;
  text: string;
}

export interface Ran {
  code: number | null;
  stdout: string;
  stderr: string;
}

export function readText(file: string): string {
  return readFileSync(join(REPOSITORY, file), 'utf8');
}

/** The blocks of a page, in order. */
export function readBlocks(file: string): Block[] {
  const page = file.split('/').at(-1) ?? file;
  return Array.from(
    readText(file).matchAll(/^```(\S*) *(.*)\n([^]*?)^```$/gm),
    ([, language = '', name = '', text = '']) => ({
      id: `${page}#${name}`,
      language,
      name,
      text,
    }),
  );
}

export function isFile({ language }: Block): boolean {
  return language === 'ts' || language === 'js' || language === 'json' || language === 'md';
}

/** A workspace of the files a page shows, as a reader has it who did what the page says. */
export async function makePageWorkspace(rig: Rig, file: string): Promise<Workspace> {
  const workspace = await rig.workspace();
  for (const entry of readdirSync(workspace.root)) if (entry !== 'node_modules') workspace.remove(entry);
  mkdirSync(workspace.path('node_modules/@svc'));
  for (const name of ['client', 'runtime', 'compiler'])
    symlinkSync(join(REPOSITORY, 'packages', name), workspace.path(`node_modules/@svc/${name}`));
  mkdirSync(workspace.path('node_modules/@types'));
  symlinkSync(join(REPOSITORY, 'node_modules/@types/node'), workspace.path('node_modules/@types/node'));
  mkdirSync(workspace.path('node_modules/.bin'));
  symlinkSync(join(REPOSITORY, 'node_modules/vitest'), workspace.path('node_modules/vitest'));
  symlinkSync('../vitest/vitest.mjs', workspace.path('node_modules/.bin/vitest'));
  workspace.write('svc.json', '{ "slug": "page" }\n');
  workspace.write('package.json', '{ "private": true, "type": "module" }\n');
  workspace.write('tsconfig.json', readText('templates/empty/tsconfig.json'));
  for (const block of readBlocks(file).filter(isFile)) workspace.write(block.name, block.text);
  return workspace;
}

/**
 * `svc dev` for a page, in this process: its compiler and its stores are loaded once for all pages. Commands of the page are
 * processes, as a person starts them.
 */
export async function bootPage(rig: Rig, workspace: Workspace, { model }: { model: boolean }): Promise<Box> {
  // Most tests that read pages boot none, and it imports a bundler.
  const { startDev } = await import('../src/dev/start.ts');
  const said: string[] = [];
  // What the box logs goes where a person would see it as well.
  const log = vi.spyOn(process.stderr, 'write').mockImplementation((text) => Boolean(said.push(String(text))));
  const server = await startDev({
    root: workspace.root,
    listen: false,
    json: true,
    verbose: false,
    env: { ...workspace.env, ...(model ? { MODEL_PROVIDER_BASE_URL: rig.model().url } : {}) },
  });
  const ended = server.closed.then((code) => {
    log.mockRestore();
    return { code, signal: null, stdout: '', stderr: said.join(''), ms: 0 };
  });
  const command: Command = {
    pid: process.pid,
    stdout: () => JSON.stringify(server.payload),
    stderr: () => said.join(''),
    kill: () => void server.close(),
    ended,
  };
  return workspace.talkTo(command, { port: workspace.ports.api });
}

/** Runs a block as a person would, in the workspace, with the addresses of the page led to the running servers. */
export async function runBlock(block: Block, workspace: Workspace, modelPort: number): Promise<Ran> {
  const text = block.text
    .replaceAll('127.0.0.1:4242', `127.0.0.1:${workspace.ports.api}`)
    .replaceAll('127.0.0.1:9101', `127.0.0.1:${modelPort}`);
  const commands = mkdtempSync(join(tmpdir(), 'svc-docs-'));
  try {
    writeFileSync(
      join(commands, 'svc'),
      `#!/bin/sh\nexec "${process.execPath}" ${SHORT_LIVED.join(' ')} "${BIN}" "$@"\n`,
    );
    chmodSync(join(commands, 'svc'), 0o755);
    const env = { ...workspace.env, PATH: `${commands}:${process.env.PATH ?? ''}`, LANG: 'C.UTF-8' };
    return await run('/bin/sh', ['-euc', text], { cwd: workspace.root, env });
  } finally {
    rmSync(commands, { recursive: true });
  }
}

/** The JSON documents `curl` printed one after the other. */
export function readDocuments({ stdout }: Ran): Record<string, unknown>[] {
  return stdout.split(/(?<=\})\n?(?=\{)/).map((text) => JSON.parse(text) as Record<string, unknown>);
}

/** Every page people read, from the root of the repository. */
export function listPages(): string[] {
  const docs = readdirSync(join(REPOSITORY, 'docs'), { recursive: true, encoding: 'utf8' }).map(
    (path) => `docs/${path}`,
  );
  return ['README.md', 'CONTRIBUTING.md', 'playground/README.md', ...docs].filter((path) => path.endsWith('.md'));
}

// --- internal ---

function run(command: string, args: string[], options: { cwd: string; env: Record<string, string> }): Promise<Ran> {
  const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  const kept = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text: string) => (kept[name] += text));
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, ...kept }));
  });
}
