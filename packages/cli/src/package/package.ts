import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DeployPlan, DeployTarget } from '@svc/compiler';
import type { Problem } from '@svc/runtime/host';
import { readLink } from '../account/project-link.ts';
import { buildBundle } from '../workspace/bundle.ts';
import { toSlug } from '../dev/project.ts';
import { usageError } from '../errors.ts';
import type { Context } from '../context.ts';
import { readArchive } from './archive-read.ts';
import { findEngine } from './engine.ts';
import { checkDeployFolder, commitDraft, draftOf, ENV_FILE, findEnv, listFiles } from './folder.ts';
import { chooseImages, saveBase, writeImages } from './images.ts';
import type { Chosen, Wanted } from './images.ts';
import type { PackagePayload } from './payload.ts';

export interface PackageOptions {
  root: string;
  slug: string;
  outDir: string;
  target: DeployTarget;
  tag: string | undefined;
  base: string | undefined;
  offline: boolean;
  /** A saved base, absolute: the images are made from it, without an engine. */
  archive: string | undefined;
  random(bytes: number): Buffer;
}

export interface Packaged {
  data: PackagePayload;
  problems: Problem[];
  /** What `.env` leaves open. */
  open: { name: string; isRequired: boolean; without: string | undefined }[];
  /** The commands that make the images the folder is built from, before its first start. */
  before: string[];
}

/**
 * Writes a deploy folder. What can be refused is refused before anything is compiled, and the folder is as it was until
 * everything is made. Its `.env` keeps every value it has.
 */
export async function writeDeployFolder(options: PackageOptions, context: Context): Promise<Packaged> {
  const [compiler, { contractPayload, toBucketName }] = await Promise.all([
    import('@svc/compiler'),
    import('@svc/runtime/host'),
  ]);
  const { root, slug, outDir, target, archive } = options;
  checkReferences(options, compiler.isImageReference);
  checkDeployFolder(outDir, compiler.COMPOSE_MARK);
  const { version: contract, build } = contractPayload();
  const offline = options.offline || archive !== undefined;
  const planned = compiler.planDeploy({
    ...options,
    bucket: toBucketName(slug),
    linkedSlug: findLinkedSlug(options),
    version: build.version,
    contract,
    offline,
  });
  const wanted = { isBaseNamed: options.base !== undefined, contract, toCommonName: compiler.toCommonName };
  const chosen = archive === undefined ? undefined : await chooseFrom(archive, { ...wanted, plan: planned });
  const engine = offline && !chosen ? await findEngine(context) : undefined;
  const plan = { ...planned, baseImage: options.base ?? chosen?.baseName ?? planned.baseImage };

  const hasBase = compiler.hasBaseDockerfile(plan);

  const draft = draftOf(outDir);
  const saved = `${draft}.base.tar`;
  try {
    rmSync(draft, { recursive: true, force: true });
    mkdirSync(draft, { recursive: true });
    const workspace = join(draft, 'workspace');
    context.progress('Building the workspace');
    const { workflows, deepAgents, degradedWorkflows, problems } = await buildBundle({ root, slug, outDir: workspace });
    const texts = {
      Dockerfile: compiler.emitDockerfile(plan),
      ...(hasBase ? { [compiler.BASE_DOCKERFILE]: compiler.emitBaseDockerfile(plan) } : {}),
      '.dockerignore': compiler.emitDockerignore(),
      'docker-compose.yml': compiler.emitCompose(plan),
      '.env.example': compiler.emitEnvExample(plan),
      'README.md': compiler.emitReadme(plan),
    };
    for (const [name, text] of Object.entries(texts)) writeFileSync(join(draft, name), text);
    const images =
      chosen ?? (engine && chooseImages(await saveBase(engine, plan, saved), { ...wanted, plan, isBaseNamed: true }));
    if (images)
      await writeImages(images, { workspace, tag: plan.imageTag, target: join(draft, compiler.ARCHIVES[target]) });
    const env = compiler.emitEnv(plan, { existing: findEnv(outDir), random: options.random });
    const files = [...listFiles(draft), ENV_FILE].sort();
    commitDraft(draft, outDir, { env, owned: [...Object.values(compiler.ARCHIVES), compiler.BASE_DOCKERFILE] });
    const open = compiler.listOpenVariables(plan, env).map(({ name, required, without }) => ({
      name,
      isRequired: required.includes(target),
      without,
    }));
    const ports = {
      port: compiler.AGENT_PORT,
      controlPlanePort: toControlPlanePort(plan, compiler.CONTROL_PLANE_PORT),
    };
    const { imageTag, baseImage, controlPlaneImage } = plan;
    const names = { workflows, deepAgents, degradedWorkflows };
    return {
      data: { outDir, files, target, imageTag, baseImage, controlPlaneImage, ...names, ...ports, offline },
      problems,
      open,
      before: hasBase ? compiler.listBaseCommands(plan) : [],
    };
  } finally {
    rmSync(draft, { recursive: true, force: true });
    rmSync(saved, { force: true });
  }
}

// --- internal ---

function checkReferences({ tag, base }: PackageOptions, isImageReference: (text: string) => boolean): void {
  for (const [flag, value] of Object.entries({ tag, base })) {
    if (value === undefined || isImageReference(value)) continue;
    throw usageError(
      `--${flag} is "${value}", which is no name of an image.`,
      `For example: svc package --${flag} shop:1.4`,
    );
  }
  if (tag?.includes('@')) throw usageError('--tag takes no digest.', 'For example: svc package --tag shop:1.4');
}

/** Its name there, as it may stand in a tag. */
function findLinkedSlug({ root, tag }: PackageOptions): string | undefined {
  const link = tag === undefined ? readLink(root) : undefined;
  return link && toSlug(link.name);
}

async function chooseFrom(file: string, wanted: Wanted): Promise<Chosen> {
  return chooseImages(await readArchive(file), wanted);
}

function toControlPlanePort({ target }: DeployPlan, port: number): number | null {
  return target === 'self-host' ? port : null;
}
