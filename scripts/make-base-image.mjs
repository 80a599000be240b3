// @ts-check
/**
 * Builds the base image of packaged boxes from this checkout, once it is built.
 *   node scripts/make-base-image.mjs                  svc-runtime:<version>, with docker, podman or buildah
 *   --engine <name>      that one, instead of the first that works
 *   --tag <image>        another name
 *   --node-image <image> --os-image <image>           instead of those the Dockerfile names
 *   --control-plane      the control plane too, as svc-control-plane:<version>
 *   --context <folder>   only lay out what the image is built from, for which no engine is needed
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { readContract, writeBaseContext, writeControlPlaneContext } from './_base-context.mjs';

/** How each is asked whether it works, and how it builds. The format of docker, or the health check is left out. */
const ENGINES = [
  { name: 'docker', probe: ['version'], build: ['build'] },
  { name: 'podman', probe: ['info'], build: ['build', '--format', 'docker'] },
  { name: 'buildah', probe: ['info'], build: ['build', '--format', 'docker'] },
];

const { values } = parseArgs({
  options: {
    engine: { type: 'string' },
    tag: { type: 'string' },
    'node-image': { type: 'string' },
    'os-image': { type: 'string' },
    'control-plane': { type: 'boolean', default: false },
    context: { type: 'string' },
  },
});

if (values.context) writeBaseContext(resolve(values.context));
else await makeImages();

// --- internal ---

async function makeImages() {
  const engine = findEngine();
  if (!engine) {
    const names = values.engine ?? ENGINES.map(({ name }) => name).join(', ');
    console.error(`No container engine works here: ${names}. Start one, or see what it would build with --context.`);
    process.exit(1);
  }
  const { version: contract, build } = await readContract();
  const tag = values.tag ?? `svc-runtime:${build.version}`;
  const context = mkdtempSync(join(tmpdir(), 'svc-base-'));
  try {
    const base = join(context, 'base');
    const companion = join(context, 'companion');
    mkdirSync(companion);
    writeBaseContext(base);
    const images = { NODE_IMAGE: values['node-image'], OS_IMAGE: values['os-image'] };
    buildImage(engine, { tag, context: base, args: { CONTRACT: String(contract), ...images } });
    if (!values['control-plane']) return;
    writeControlPlaneContext(companion);
    const plane = `svc-control-plane:${build.version}`;
    buildImage(engine, { tag: plane, context: companion, args: { BASE: tag } });
  } finally {
    rmSync(context, { recursive: true, force: true });
  }
}

function findEngine() {
  const asked = ENGINES.filter(({ name }) => !values.engine || name === values.engine);
  return asked.find(({ name, probe }) => spawnSync(name, probe, { stdio: 'ignore', timeout: 20_000 }).status === 0);
}

/**
 * @param {(typeof ENGINES)[number]} engine
 * @param {{ tag: string, context: string, args: Record<string, string | undefined> }} image
 */
function buildImage({ name, build }, { tag, context, args }) {
  const given = Object.entries(args).flatMap(([key, value]) => (value ? ['--build-arg', `${key}=${value}`] : []));
  const { status } = spawnSync(name, [...build, ...given, '-t', tag, context], { stdio: 'inherit' });
  if (status === 0) return console.error(`built ${tag}`);
  console.error(`${name} could not build ${tag}.`);
  process.exit(1);
}
