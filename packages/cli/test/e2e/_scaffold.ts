import { mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'vitest';
import { REPOSITORY } from '../_docs.ts';
import type { Rig, Workspace } from './_setup.ts';

/** A workspace as `svc init` and `svc add` leave it, with what an install would link. */
export async function scaffold(rig: Rig, template: string, ...added: string[][]): Promise<Workspace> {
  const workspace = await rig.workspace();
  empty(workspace);
  expect(await workspace.svc('init', '.', '--with', template, '--no-install')).toMatchObject({ code: 0, stderr: '' });
  for (const argv of added) expect(await workspace.svc('add', ...argv)).toMatchObject({ code: 0, stderr: '' });
  linkPackages(workspace);
  return workspace;
}

/** Takes everything out, packages included. */
export function empty(workspace: Workspace): void {
  for (const entry of readdirSync(workspace.root)) workspace.remove(entry);
}

/** What an install would bring. */
export function linkPackages(workspace: Workspace): void {
  link(workspace, 'zod', 'playground/node_modules/zod');
  link(workspace, 'drizzle-orm', 'packages/cli/node_modules/drizzle-orm');
  link(workspace, '@svc/runtime', 'packages/runtime');
  link(workspace, '@svc/cli', 'packages/cli');
  link(workspace, '@types/node', 'node_modules/@types/node');
}

// --- internal ---

function link(workspace: Workspace, name: string, target: string): void {
  const path = workspace.path(`node_modules/${name}`);
  mkdirSync(dirname(path), { recursive: true });
  symlinkSync(join(REPOSITORY, target), path);
}
