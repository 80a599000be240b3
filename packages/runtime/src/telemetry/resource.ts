import { resourceFromAttributes } from '@opentelemetry/resources';
import type { Resource } from '@opentelemetry/resources';

/** Which process exports. */
export interface ResourceFacts {
  serviceName: string;
  serviceVersion: string;
  /** Of this process: another one after a restart. */
  instanceId: string;
  more: Record<string, string>;
}

export function createResource({ serviceName, serviceVersion, instanceId, more }: ResourceFacts): Resource {
  return resourceFromAttributes({
    'service.version': serviceVersion,
    'service.instance.id': instanceId,
    ...more,
    'service.name': serviceName,
    'telemetry.sdk.language': 'nodejs',
    'telemetry.sdk.name': 'opentelemetry',
  });
}
