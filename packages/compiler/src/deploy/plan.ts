import { OUR_IMAGES, toImageName } from './images.ts';

/** Where a folder is deployed: below an existing control plane, or with one of its own. */
export const DEPLOY_TARGETS = ['byoc', 'self-host'] as const;
export type DeployTarget = (typeof DEPLOY_TARGETS)[number];

/** Everything the files of a deploy folder are made from. */
export interface DeployPlan {
  target: DeployTarget;
  /** The agent's slug: the name of the composition, and the id of the agent unless `.env` has another. */
  slug: string;
  imageTag: string;
  baseImage: string;
  /** The version of the runtime the base holds, and the protocol it speaks; null: another base was named. */
  published: { version: string; contract: number } | null;
  /** Null where there is none. */
  controlPlaneImage: string | null;
  bucket: string;
  /** The images come in an archive; nothing is built where the folder is deployed. */
  offline: boolean;
}

export interface PlanOptions {
  target: DeployTarget;
  slug: string;
  bucket: string;
  /** Of the agent of the control plane the workspace is linked to; undefined: it never was. */
  linkedSlug: string | undefined;
  /** The version of the runtime, which the base and the control plane share. */
  version: string;
  /** The protocol of that version. */
  contract: number;
  tag?: string | undefined;
  base?: string | undefined;
  offline: boolean;
}

/** The port of the box and of the control plane inside their containers. */
export const AGENT_PORT = 8080;
export const CONTROL_PLANE_PORT = 3000;

export function planDeploy(options: PlanOptions): DeployPlan {
  const { target, slug, bucket, linkedSlug, version, contract, tag, base, offline } = options;
  return {
    target,
    slug,
    imageTag: tag ?? `${linkedSlug === undefined ? 'svc-agent' : toImageName(linkedSlug)}:latest`,
    baseImage: base ?? `${OUR_IMAGES.base}:${version}`,
    published: base === undefined ? { version, contract } : null,
    controlPlaneImage: target === 'self-host' ? `${OUR_IMAGES.controlPlane}:${version}` : null,
    bucket,
    offline,
  };
}
