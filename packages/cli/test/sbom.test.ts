import { expect, it } from 'vitest';
import { listPublished, makeSbom } from '../../../scripts/make-sbom.mjs';
import { readText } from './_docs.ts';

interface Sbom {
  specVersion: string;
  metadata: { component: { purl: string; licenses: { license: { id: string } }[] } };
  components: { purl: string; version: string; hashes?: { alg: string; content: string }[] }[];
  dependencies: { ref: string; dependsOn?: string[] }[];
}

it.each(listPublished())('the bill of materials of %s names all that an install brings, with its hash', (folder) => {
  const text = makeSbom(folder);
  expect(makeSbom(folder)).toBe(text);
  const bom = JSON.parse(text) as Sbom;
  const manifest = JSON.parse(readText(`packages/${folder}/package.json`)) as {
    name: string;
    version: string;
    dependencies?: Record<string, string>;
    optionalDependencies?: Record<string, string>;
  };
  const toPurl = (name: string, version: string) => `pkg:npm/${name.replace('@', '%40')}@${version}`;
  const own = toPurl(manifest.name, manifest.version);
  expect(bom).toMatchObject({
    specVersion: '1.6',
    metadata: { component: { purl: own, licenses: [{ license: { id: 'Apache-2.0' } }] } },
  });
  const known = new Set([own, ...bom.components.map(({ purl }) => purl)]);
  for (const { dependsOn = [] } of bom.dependencies) for (const ref of dependsOn) expect(known).toContain(ref);
  const asked = Object.entries({ ...manifest.dependencies, ...manifest.optionalDependencies }).map(([name, version]) =>
    toPurl(name, version.startsWith('workspace:') ? manifest.version : version),
  );
  expect(bom.dependencies.find(({ ref }) => ref === own)?.dependsOn ?? []).toEqual(asked.sort());
  const foreign = bom.components.filter(({ purl }) => !purl.startsWith('pkg:npm/%40svc/'));
  for (const { hashes = [] } of foreign) expect(hashes[0]?.content).toMatch(/^[\da-f]{128}$/);
});
