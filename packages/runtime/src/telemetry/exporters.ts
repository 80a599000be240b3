import type { ResourceMetrics } from '@opentelemetry/sdk-metrics';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';
import type { OtlpTarget } from './settings.ts';

/** What the exporters of both signals have in common. */
export interface Exporter<T> {
  export(items: T, done: (result: { code: number; error?: Error }) => void): void;
  shutdown(): Promise<void>;
  forceFlush?(): Promise<void>;
}

export async function createSpanExporter(target: OtlpTarget): Promise<Exporter<ReadableSpan[]>> {
  const { OTLPTraceExporter } =
    target.encoding === 'json'
      ? await import('@opentelemetry/exporter-trace-otlp-http')
      : await import('@opentelemetry/exporter-trace-otlp-proto');
  return new OTLPTraceExporter(toConfig(target));
}

export async function createMetricExporter(target: OtlpTarget): Promise<Exporter<ResourceMetrics>> {
  const { OTLPMetricExporter } =
    target.encoding === 'json'
      ? await import('@opentelemetry/exporter-metrics-otlp-http')
      : await import('@opentelemetry/exporter-metrics-otlp-proto');
  return new OTLPMetricExporter(toConfig(target));
}

// --- internal ---

/** With the tries that follow a failure. */
const TIMEOUT_MS = 5_000;

function toConfig({ url, headers }: OtlpTarget) {
  return { url, headers, timeoutMillis: TIMEOUT_MS };
}
