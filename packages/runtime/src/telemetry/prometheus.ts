import { PrometheusSerializer } from '@opentelemetry/exporter-prometheus';
import type { MetricData } from '@opentelemetry/sdk-metrics';
import { createResource } from './resource.ts';
import type { ResourceFacts } from './resource.ts';
import { collectMetrics } from './metric-data.ts';
import type { MetricSource } from './metric-data.ts';

/** The figures in the text format of Prometheus, each with its unit in its name. */
export async function writeMetrics(source: Omit<MetricSource, 'resource'> & { facts: ResourceFacts }): Promise<string> {
  const { resourceMetrics } = await collectMetrics({ ...source, resource: createResource(source.facts) });
  const scopeMetrics = resourceMetrics.scopeMetrics.map(({ scope, metrics }) => ({
    scope,
    metrics: metrics.map(withUnit),
  }));
  return `${new PrometheusSerializer('', false, undefined, false, true).serialize({ ...resourceMetrics, scopeMetrics })}\n`;
}

// --- internal ---

const SUFFIXES: Record<string, string> = { s: '_seconds', By: '_bytes' };

function withUnit(metric: MetricData): MetricData {
  const { name, unit } = metric.descriptor;
  // The line for the unit belongs to another format.
  const descriptor = { ...metric.descriptor, name: `${name}${SUFFIXES[unit] ?? ''}`, unit: '' };
  return { ...metric, descriptor };
}
