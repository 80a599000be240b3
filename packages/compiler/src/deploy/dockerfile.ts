import type { DeployPlan } from './plan.ts';

/** Two lines: everything else is in the base. Only what is copied gets into the image, so `.env` stays outside. */
export function emitDockerfile({ baseImage }: DeployPlan): string {
  return `FROM ${baseImage}\nCOPY workspace/ /workspace/\n`;
}
