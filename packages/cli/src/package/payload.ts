import type { DeployTarget } from '@svc/compiler';
import { BUNDLE_NAMES } from '../workspace/bundle.ts';
import { array, boolean, integer, nullable, object, oneOf, string } from '../payload/payload.ts';
import type { TypeOf } from '../payload/payload.ts';

export const TARGETS = ['byoc', 'self-host'] as const satisfies readonly DeployTarget[];

/** What `svc package` prints. */
export const PACKAGE_PAYLOAD = object({
  outDir: string('The deploy folder, absolute.'),
  files: array(string(), 'What it holds: paths in it, sorted.'),
  target: oneOf(TARGETS, 'What it deploys to.'),
  imageTag: string('What the image of the agent is called.'),
  baseImage: string('The image it is derived from.'),
  controlPlaneImage: nullable(string('The image of the control plane; null for byoc.')),
  ...BUNDLE_NAMES,
  port: integer('The port of the box in its container.', { minimum: 1, maximum: 65_535 }),
  controlPlanePort: nullable(
    integer('The port of the control plane in its container; null for byoc.', { minimum: 1, maximum: 65_535 }),
  ),
  offline: boolean('Whether the images are in the folder.'),
  openRuns: nullable(
    object(
      {
        checked: integer('The open runs of the box whose histories were read.'),
        safe: integer('Those whose history the code fits.'),
        unchecked: integer('Those for which that is not known.'),
      },
      'What --against found; null without it.',
    ),
  ),
});
export type PackagePayload = Omit<TypeOf<typeof PACKAGE_PAYLOAD>, 'openRuns'>;
