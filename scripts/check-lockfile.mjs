// @ts-check
/**
 * What pnpm-lock.yaml may hold: each package from a registry with its SHA-512, each dependency of ours at one version, and
 * no package whose script would run at an install. Prints what is wrong, a line each, and ends with 1.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { ROOT } from './_tool.mjs';

/**
 * @typedef {Record<string, { specifier?: unknown, version?: unknown }>} Group
 * @typedef {{
 *   importers?: Record<string, Record<string, Group>>,
 *   packages?: Record<string, { resolution?: Record<string, unknown> }>,
 * }} Lockfile
 */

/**
 * @param {string} lockfile the text of pnpm-lock.yaml
 * @param {string} workspace the text of pnpm-workspace.yaml
 * @returns {string[]} a sentence for each fault
 */
export function listFaults(lockfile, workspace) {
  const { importers = {}, packages = {} } = /** @type {Lockfile} */ (parse(lockfile));
  const { allowBuilds = {} } = /** @type {{ allowBuilds?: Record<string, unknown> }} */ (parse(workspace));
  const faults = [];
  for (const [name, { resolution = {} }] of Object.entries(packages)) {
    const { integrity, ...others } = resolution;
    if (Object.keys(others).length > 0) faults.push(`${name} comes from elsewhere: ${Object.keys(others).join(', ')}.`);
    if (!/^sha512-[\w+/]{86}==$/.test(String(integrity))) faults.push(`${name} has no SHA-512.`);
  }
  for (const [folder, groups] of Object.entries(importers))
    for (const group of Object.values(groups))
      for (const [name, { specifier }] of Object.entries(group))
        if (!isPinned(String(specifier)))
          faults.push(`${folder} asks for ${name} ${String(specifier)}: name one version.`);
  for (const [name, isAllowed] of Object.entries(allowBuilds))
    if (isAllowed !== false) faults.push(`pnpm-workspace.yaml lets the install script of ${name} run.`);
  return faults;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const read = (/** @type {string} */ name) => readFileSync(join(ROOT, name), 'utf8');
  const faults = listFaults(read('pnpm-lock.yaml'), read('pnpm-workspace.yaml'));
  for (const fault of faults) console.error(fault);
  process.exitCode = faults.length > 0 ? 1 : 0;
}

// --- internal ---

/** @param {string} specifier */
function isPinned(specifier) {
  return /^(?:workspace:.*|link:.*|npm:.+@\d+\.\d+\.\d+\S*|\d+\.\d+\.\d+\S*)$/.test(specifier);
}
