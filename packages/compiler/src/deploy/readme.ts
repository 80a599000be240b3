import { BASE_DOCKERFILE, hasBaseDockerfile, listBaseCommands } from './base.ts';
import { IMAGES } from './images.ts';
import { AGENT_PORT, CONTROL_PLANE_PORT } from './plan.ts';
import type { DeployPlan } from './plan.ts';
import { listDeployVariables } from './variables.ts';

/** The archive of `--offline`, by target. */
export const ARCHIVES = { byoc: 'agent-image.tar', 'self-host': 'svc-images.tar' } as const;

/** What whoever deploys the folder has to know. */
export function emitReadme(plan: DeployPlan): string {
  const sections = [
    `# ${plan.slug}\n\nWritten by \`svc package\` for the target \`${plan.target}\`. The next one replaces every file but \`.env\`.`,
    describeStart(plan),
    describeVariables(plan),
    plan.target === 'self-host' ? describeSelfHost(plan) : BYOC,
    KEEP,
    describeFiles(plan),
  ];
  return `${sections.join('\n\n')}\n`;
}

// --- internal ---

function describeStart(plan: DeployPlan): string {
  const { offline, target } = plan;
  const before = hasBaseDockerfile(plan) ? listBaseCommands(plan) : [];
  const load = offline ? [`docker load -i ${ARCHIVES[target]}`] : before;
  const infrastructure = Object.values(IMAGES)
    .map((image) => `\`${image}\``)
    .join(', ');
  const pulled = offline
    ? `The archive holds our images alone. These are pulled, or have to be there: ${infrastructure}.`
    : `\`up\` builds \`${plan.imageTag}\` from \`${plan.baseImage}\` and pulls ${infrastructure}.`;
  return `## Start

\`\`\`sh
${[...load, 'docker compose up -d'].join('\n')}
\`\`\`

${before.length > 0 ? BASE : ''}${pulled} The box then answers on port ${AGENT_PORT}: \`curl http://127.0.0.1:${AGENT_PORT}/health\`.`;
}

function describeVariables({ target }: DeployPlan): string {
  const rows = listDeployVariables(target).map(({ name, comment, generate, required }) => {
    const kind = required.includes(target) ? 'needed' : '';
    return `| \`${name}\` | ${[generate ? 'made' : '', kind].filter(Boolean).join(', ')} | ${comment} |`;
  });
  return `## Variables

They are in \`.env\`, which \`svc package\` adds to and never changes. Without one that is needed, compose starts nothing
and names it.

| | | |
|---|---|---|
${rows.join('\n')}

Downloads in a browser need \`SVC_S3_ENDPOINT\`: an address of the object store that the browser and the box both reach.`;
}

const BASE = `The first command makes the base of this version from the published packages; do it once on a machine, and push the
image where others are to pull it. Where the registry of npm is another, add \`--build-arg NPM_CONFIG_REGISTRY=<address>\`. `;

const BYOC = `## Link

Without \`SVC_SECRET_KEY\` the box itself refuses to start and says why: \`docker compose logs agent\`. Once it runs,
\`svc link\` registers it; it asks for \`HMAC_SECRET\` and for the address under which browsers reach the box.

Its first API key needs no control plane:

\`\`\`sh
docker compose exec agent svc-box keys create --name first --agents all --workflows all
\`\`\``;

function describeSelfHost({ controlPlaneImage }: DeployPlan): string {
  return `## Control plane

\`${controlPlaneImage}\` serves the dashboard on port ${CONTROL_PLANE_PORT} or \`CONTROL_PLANE_PORT\`: sign in with
\`STUDIO_STANDALONE_TOKEN\` of \`.env\`. The same token is the bearer of the operator at the box. To change it, change it in
\`.env\` and run \`docker compose up -d\`: both restart, and every session of the dashboard ends.

Where https leads to it, set \`SVC_PLANE_URL\` to that address, and \`PLANE_TRUST_PROXY\` to the proxy that does it.
\`GET /api/v1/self-host/health\` is for a monitor; it says whether the box is reached.`;
}

const KEEP = `## Keep

- \`.env\`: what \`SVC_SECRET_KEY\` encrypted cannot be read without it.
- The volumes \`db-data\`, \`kv-data\` and \`obj-data\`: \`docker compose down\` leaves them, \`down -v\` deletes them.

Changes of yours go into \`docker-compose.override.yml\`, which compose reads too.`;

function describeFiles(plan: DeployPlan): string {
  const { offline, target } = plan;
  const rows = [
    ['workspace/', 'the compiled agents and workflows'],
    ['Dockerfile', 'the base, and the workspace in it'],
    ...(hasBaseDockerfile(plan) ? [[BASE_DOCKERFILE, 'what the base is built from']] : []),
    ['.dockerignore', 'what the build of the image is not sent: the secrets of `.env`'],
    ['docker-compose.yml', 'the services, their networks and volumes'],
    ['.env', 'the secrets and settings, readable by you alone'],
    ['.env.example', 'the same variables without values'],
    ...(offline ? [[ARCHIVES[target], 'the images, for `docker load`']] : []),
  ];
  return `## Files\n\n${rows.map(([name, what]) => `- \`${name}\`: ${what}`).join('\n')}`;
}
