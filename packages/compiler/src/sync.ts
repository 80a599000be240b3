import { join } from 'node:path';
import type { Manifest, Problem } from '@svc/runtime/host';
import { CONFIG_FILE } from './build/compile.ts';
import { checkScan } from './check/check.ts';
import { emitAgentsTypes } from './emit/agents.ts';
import { emitConfigTypes } from './emit/config.ts';
import { emitConnectTypes } from './emit/connect.ts';
import { emitDatabaseTypes } from './emit/database.ts';
import { emitManifest } from './emit/manifest.ts';
import { emitModulesTypes } from './emit/modules.ts';
import { emitPromptsTypes } from './emit/prompts.ts';
import { emitSecretsTypes } from './emit/secrets.ts';
import { emitWorkflowsTypes } from './emit/workflows.ts';
import { findFile, writeChanged } from './files.ts';
import { createManifest } from './manifest.ts';
import { createScanner } from './scan.ts';
import type { Scanner } from './scan.ts';

export interface SyncOptions {
  root: string;
  /** A scanner that is kept between calls reads only what changed. */
  scanner?: Scanner | undefined;
}

export interface SyncResult {
  manifest: Manifest;
  /** Every problem, also of modules an entry imports. */
  problems: Problem[];
  /** The generated files whose text changed, relative to the root. */
  written: string[];
}

/** Folders in, files out: scans the workspace, checks it and brings `.svc/` up to date. */
export async function syncWorkspace({ root, scanner = openScanner(root) }: SyncOptions): Promise<SyncResult> {
  const scan = await scanner.scan();
  const problems = checkScan(scan, root);
  const manifest = createManifest(scan, problems);
  const config = findFile(join(root, CONFIG_FILE)) ? CONFIG_FILE : undefined;
  const texts = {
    'manifest.json': emitManifest(manifest),
    'agents.d.ts': emitAgentsTypes(manifest),
    'workflows.d.ts': emitWorkflowsTypes(manifest),
    'modules.d.ts': emitModulesTypes(),
    'config.d.ts': emitConfigTypes(manifest),
    'connect.d.ts': emitConnectTypes(manifest),
    'database.d.ts': emitDatabaseTypes(manifest),
    'prompts.d.ts': emitPromptsTypes(config),
    'secrets.d.ts': emitSecretsTypes(config),
  };
  const files = Object.entries(texts).map(([name, text]) => ({ file: `.svc/${name}`, text }));
  const written = files.filter(({ file, text }) => writeChanged(join(root, file), text)).map(({ file }) => file);
  return { manifest, problems, written };
}

// --- internal ---

function openScanner(root: string): Scanner {
  return createScanner({ root, cacheFile: join(root, '.svc/cache/scan.json') });
}
