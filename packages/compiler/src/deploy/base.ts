import type { DeployPlan } from './plan.ts';

/** What the base is built from where the folder is deployed. */
export const BASE_DOCKERFILE = 'base.Dockerfile';

/** Whether the folder has it: not where the images come in an archive, nor where another base was named. */
export function hasBaseDockerfile({ published, offline }: DeployPlan): boolean {
  return published !== null && !offline;
}

/** The commands that build the images of ours which the composition asks for, in the deploy folder. */
export function listBaseCommands({ baseImage, controlPlaneImage }: DeployPlan): string[] {
  const build = (image: string, more = '') => `docker build -t ${image}${more} -f ${BASE_DOCKERFILE} .`;
  return [
    build(baseImage, controlPlaneImage === null ? '' : ' --target base'),
    ...(controlPlaneImage === null ? [] : [build(controlPlaneImage, ' --target control-plane')]),
  ];
}

/** Node and the published runtime, without what only `svc dev` opens: its embedded stores. */
export function emitBaseDockerfile(plan: DeployPlan): string {
  const { version, contract } = plan.published ?? { version: '', contract: 0 };
  const base = `# The base of packaged boxes, from the published packages:
${listBaseCommands(plan)
  .map((command) => `#   ${command}`)
  .join('\n')}
# With a registry of your own: --build-arg NPM_CONFIG_REGISTRY=https://registry.example
ARG NODE_IMAGE=node:24.21.0-trixie
ARG OS_IMAGE=debian:trixie-slim

FROM \${NODE_IMAGE} AS node
ARG NPM_CONFIG_REGISTRY
WORKDIR /opt/svc
RUN npm install --omit=dev --omit=optional --ignore-scripts --no-audit --no-fund @svc/runtime@${version} \\
 && rm -rf node_modules/@electric-sql node_modules/@photostructure package.json package-lock.json \\
 && ln -s node_modules/@svc/runtime runtime \\
 && cp runtime/dist/container/* . \\
 && chmod 755 svc-box

FROM \${OS_IMAGE} AS base
LABEL svc.contract=${contract}
COPY --from=node /usr/local/bin/node /usr/local/bin/node
COPY --from=node /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=node /opt/svc/ /opt/svc/
COPY --from=node /opt/svc/svc-box /usr/local/bin/svc-box
ENV NODE_ENV=production PORT=8080
WORKDIR /workspace
USER 65532:65532
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=6 CMD ["node", "/opt/svc/healthcheck.mjs"]
ENTRYPOINT ["node", "/opt/svc/boot.mjs"]
`;
  return plan.controlPlaneImage === null ? base : base + emitControlPlane(version);
}

// --- internal ---

/** Its packages lie beside those of the runtime, which it shares the rest of the base with. */
function emitControlPlane(version: string): string {
  return `
FROM \${NODE_IMAGE} AS control-plane-packages
ARG NPM_CONFIG_REGISTRY
WORKDIR /opt/svc/control-plane
RUN npm install --omit=dev --omit=optional --ignore-scripts --no-audit --no-fund @svc/control-plane@${version} \\
 && rm -rf node_modules/@photostructure package.json package-lock.json \\
 && ln -s node_modules/@svc/control-plane/bin.mjs bin.mjs \\
 && cp node_modules/@svc/control-plane/dist/container/svc-control-plane . \\
 && chmod 755 svc-control-plane \\
 && mkdir -p -m 700 /volumes/data

FROM base AS control-plane
COPY --from=control-plane-packages /opt/svc/control-plane/ /opt/svc/control-plane/
COPY --from=control-plane-packages /opt/svc/control-plane/svc-control-plane /usr/local/bin/svc-control-plane
COPY --from=control-plane-packages --chown=65532:65532 /volumes/ /
ENV PORT=3000
WORKDIR /opt/svc/control-plane
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=6 CMD ["node", "/opt/svc/healthcheck.mjs"]
ENTRYPOINT ["node", "/opt/svc/control-plane/bin.mjs"]
`;
}
