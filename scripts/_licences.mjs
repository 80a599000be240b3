// @ts-check
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/**
 * A plugin of the bundler: what goes into a package's `dist` from other packages is listed beside it, in
 * `THIRD_PARTY.txt`, with the text of each licence.
 * @returns {import('tsdown').Rolldown.Plugin}
 */
export function keepLicences() {
  return {
    name: 'licences',
    generateBundle(_options, bundle) {
      const files = Object.values(bundle).flatMap((chunk) => (chunk.type === 'chunk' ? chunk.moduleIds : []));
      const folders = new Set(files.flatMap((file) => findPackage(file) ?? []));
      if (folders.size > 0) this.emitFile({ type: 'asset', fileName: 'THIRD_PARTY.txt', source: toText(folders) });
    },
  };
}

// --- internal ---

/** @param {string} file */
function findPackage(file) {
  const folder = /^(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1];
  return folder !== undefined && existsSync(join(folder, 'package.json')) ? folder : undefined;
}

/** @param {Set<string>} folders */
function toText(folders) {
  /** @type {Map<string, string[]>} packages by what their licence says */
  const names = new Map();
  for (const folder of [...folders].sort()) {
    const { name, licence } = readPackage(folder);
    names.set(licence, [...(names.get(licence) ?? []), name]);
  }
  const parts = [...names].map(([licence, packages]) => `${packages.join('\n')}\n\n${licence}\n`);
  return `In this folder there is code of other packages.\n\n${parts.join(`\n${'-'.repeat(80)}\n\n`)}`;
}

/** @param {string} folder */
function readPackage(folder) {
  const { name, version, license, author } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  const by = typeof author === 'string' ? author : (author?.name ?? '');
  const licence = file ? readFileSync(join(folder, file), 'utf8').trim() : `Licence: ${license}. ${by}`.trim();
  return { name: `${name} ${version}`, licence };
}
