import { rmSync } from 'node:fs';
import type { DeployPlan } from '@svc/compiler';
import { CliError } from '../errors.ts';
import { readArchive } from './archive-read.ts';
import type { ArchivedImage, ImageArchive } from './archive-read.ts';
import { writeArchive } from './archive-write.ts';
import type { Engine } from './engine.ts';
import { packWorkspace } from './layer.ts';

/** What of an archive is used. */
export interface Chosen {
  archive: ImageArchive;
  base: ArchivedImage;
  companion?: { image: ArchivedImage; tag: string };
  /** What the base is called in the archive. */
  baseName: string | undefined;
}

export interface Wanted {
  plan: DeployPlan;
  /** The base was asked for by name: nothing else will do. */
  isBaseNamed: boolean;
  /** The protocol version the bundle is made for. */
  contract: number;
  toCommonName(reference: string): string;
}

/**
 * Finds the base in an archive, by its name or because it is the only one, and the control plane beside it. Throws
 * `archive_invalid` where one is missing or the base is older than the bundle.
 */
export function chooseImages(archive: ImageArchive, { plan, isBaseNamed, contract, toCommonName }: Wanted): Chosen {
  const find = (name: string) =>
    archive.images.find(({ tags }) => tags.some((tag) => toCommonName(tag) === toCommonName(name)));
  const companion = plan.controlPlaneImage === null ? undefined : find(plan.controlPlaneImage);
  const others = archive.images.filter((image) => image !== companion);
  const base = find(plan.baseImage) ?? (others.length === 1 && !isBaseNamed ? others[0] : undefined);
  if (!base || base === companion) throw missing(archive, plan.baseImage, 'Name one of them with --base');
  if (plan.controlPlaneImage !== null && !companion)
    throw missing(archive, plan.controlPlaneImage, 'Save it into the same archive');
  checkContract(archive, base, contract);
  const [first] = base.tags;
  return {
    archive,
    base,
    baseName: first === undefined ? undefined : toCommonName(first),
    ...(companion && plan.controlPlaneImage !== null
      ? { companion: { image: companion, tag: plan.controlPlaneImage } }
      : {}),
  };
}

/** Writes the archive of an offline folder: the base with the workspace on top, and the control plane where there is one. */
export async function writeImages(
  chosen: Chosen,
  { workspace, tag, target }: { workspace: string; tag: string; target: string },
): Promise<void> {
  const { archive, base, companion } = chosen;
  const layer = await packWorkspace(workspace);
  await writeArchive({ source: archive, base, layer, tag, target, ...(companion ? { companion } : {}) });
}

/** Lets the engine save the base and the control plane, and reads what it wrote. The file is the caller's to remove. */
export async function saveBase(engine: Engine, plan: DeployPlan, target: string): Promise<ImageArchive> {
  const images = [plan.baseImage, ...(plan.controlPlaneImage === null ? [] : [plan.controlPlaneImage])];
  rmSync(target, { force: true });
  await engine.save(images, target);
  return readArchive(target);
}

// --- internal ---

/** The label a base carries: the newest protocol its runtime speaks. */
const CONTRACT_LABEL = 'svc.contract';

function missing({ file, images }: ImageArchive, name: string, what: string): CliError {
  const held = images.flatMap(({ tags }) => tags).join(', ') || 'none with a name';
  return new CliError('archive_invalid', `"${file}" holds no image "${name}". It holds: ${held}.`, {
    suggestion: `${what}: docker save -o base.tar <image> <image>`,
  });
}

function checkContract({ file }: ImageArchive, { config }: ArchivedImage, contract: number): void {
  const spoken = Number(config.config?.Labels?.[CONTRACT_LABEL] ?? contract);
  if (spoken >= contract) return;
  throw new CliError(
    'archive_invalid',
    `The base in "${file}" speaks protocol ${spoken}, and the bundle needs ${contract}.`,
    { suggestion: 'Save the base of this version of svc.' },
  );
}
