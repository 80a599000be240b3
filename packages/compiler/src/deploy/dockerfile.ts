import type { DeployPlan } from './plan.ts';

/** Two lines: everything else is in the base. Only what is copied gets into the image, so `.env` stays outside. */
export function emitDockerfile({ baseImage }: DeployPlan): string {
  return `FROM ${baseImage}\nCOPY workspace/ /workspace/\n`;
}

/** Of the folder, what the build is sent: nothing of `.env`, whatever builds it. */
export function emitDockerignore(): string {
  return '*\n!*Dockerfile\n!workspace\n';
}
