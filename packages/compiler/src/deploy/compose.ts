import { emitAgent, emitBucketMaker, emitControlPlane } from './compose-ours.ts';
import { DATABASE_INIT, emitDatabase, emitKeyValueStore, emitObjectStore } from './compose-stores.ts';
import type { DeployPlan } from './plan.ts';
import { toYaml } from './yaml.ts';
import type { YamlValue } from './yaml.ts';

/** How the composition begins: by this a folder is known for one that `svc package` wrote. */
export const COMPOSE_MARK = '# Written by svc package.';

/** The composition. `data` leads nowhere; what is to be reached from outside is on `edge` too. */
export function emitCompose(plan: DeployPlan): string {
  const services: Record<string, YamlValue> = {
    db: emitDatabase(),
    kv: emitKeyValueStore(),
    objstore: emitObjectStore(),
    'objstore-init': emitBucketMaker(plan),
    agent: emitAgent(plan),
    ...(plan.controlPlaneImage === null ? {} : { 'control-plane': emitControlPlane(plan, plan.controlPlaneImage) }),
  };
  const document = {
    name: plan.slug,
    services,
    networks: { data: { internal: true }, edge: {} },
    volumes: { 'db-data': {}, 'kv-data': {}, 'obj-data': {} },
    configs: { 'db-init': { content: DATABASE_INIT } },
  };
  return `${COMPOSE_MARK} A change here is lost at the next one: make yours in docker-compose.override.yml.\n${toYaml(document)}\n`;
}
