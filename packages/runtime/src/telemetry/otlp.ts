import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';
import { BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { SpanKind, SpanStatusCode } from '@opentelemetry/api';
import type { Link, SpanContext } from '@opentelemetry/api';
import type { Resource } from '@opentelemetry/resources';
import { PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import { createMetricExporter, createSpanExporter } from './exporters.ts';
import type { Exporter } from './exporters.ts';
import { collectMetrics, SCOPE, toHrTime } from './metric-data.ts';
import type { MetricSource } from './metric-data.ts';
import { ERROR_TYPE } from './names.ts';
import { createResource } from './resource.ts';
import type { ResourceFacts } from './resource.ts';
import type { OtlpTarget, TelemetrySettings } from './settings.ts';
import type { SpanData } from './span.ts';

/** What sends to a collector. Importing this file loads the libraries. */
export interface Otlp {
  emit(span: SpanData): void;
  /** Sends what there is. */
  close(): Promise<void>;
}

export interface OtlpOptions {
  settings: TelemetrySettings;
  facts: ResourceFacts;
  source: Omit<MetricSource, 'resource'>;
  onFailed(signal: string, reason: string): void;
}

export async function createOtlp({ settings, facts, source, onFailed }: OtlpOptions): Promise<Otlp> {
  const resource = createResource(facts);
  const spans = settings.traces && (await toProcessor(settings.traces, onFailed));
  const reader = settings.metrics && (await toReader(settings, settings.metrics, onFailed));
  reader?.setMetricProducer({ collect: () => collectMetrics({ ...source, resource }) });
  return {
    emit: (span) => spans?.onEnd(toReadableSpan(span, resource)),
    async close() {
      await Promise.allSettled([spans?.shutdown(), reader?.shutdown()]);
    },
  };
}

// --- internal ---

/** A process that is killed loses what it has not sent: little, and still not a request for every span. */
const SPAN_DELAY_MS = 1_000;
const MAX_SPANS = 8_192;

type OnFailed = OtlpOptions['onFailed'];

async function toProcessor(target: OtlpTarget, onFailed: OnFailed): Promise<BatchSpanProcessor> {
  const exporter = reportFailures(await createSpanExporter(target), (reason) => onFailed('traces', reason));
  return new BatchSpanProcessor(exporter, { scheduledDelayMillis: SPAN_DELAY_MS, maxQueueSize: MAX_SPANS });
}

async function toReader(settings: TelemetrySettings, target: OtlpTarget, onFailed: OnFailed) {
  const exporter = reportFailures(await createMetricExporter(target), (reason) => onFailed('metrics', reason));
  const { metricIntervalMs: exportIntervalMillis } = settings;
  const exportTimeoutMillis = Math.min(exportIntervalMillis, 10_000);
  return new PeriodicExportingMetricReader({ exporter, exportIntervalMillis, exportTimeoutMillis });
}

/** The same, and every failure is reported: the libraries keep it to themselves. */
function reportFailures<T>(exporter: Exporter<T>, onFailed: (reason: string) => void): Required<Exporter<T>> {
  return {
    export: (items, done) =>
      exporter.export(items, (result) => {
        if (result.error) onFailed(result.error.message);
        // Reported already: a failure that is passed on is only reported again.
        done({ code: 0 });
      }),
    shutdown: () => exporter.shutdown(),
    forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve(),
  };
}

const KINDS = { internal: SpanKind.INTERNAL, server: SpanKind.SERVER, client: SpanKind.CLIENT } as const;
const SAMPLED = 1;

function toReadableSpan(span: SpanData, resource: Resource): ReadableSpan {
  const { traceId, parentSpanId, error, events = [], links = [] } = span;
  const context = toContext(span);
  const parent = parentSpanId === undefined ? undefined : toContext({ traceId, spanId: parentSpanId });
  return {
    name: span.name,
    kind: KINDS[span.kind],
    spanContext: () => context,
    ...(parent ? { parentSpanContext: { ...parent, isRemote: span.isParentRemote === true } } : {}),
    startTime: toHrTime(span.start),
    endTime: toHrTime(span.end),
    duration: toHrTime(span.end - span.start),
    status: error ? { code: SpanStatusCode.ERROR, message: error.message } : { code: SpanStatusCode.UNSET },
    attributes: error ? { ...span.attributes, [ERROR_TYPE]: error.type } : span.attributes,
    events: events.map(({ name, at, attributes }) => ({ name, time: toHrTime(at), attributes })),
    links: links.map((link): Link => ({ context: toContext(link), attributes: link.attributes })),
    ended: true,
    resource,
    instrumentationScope: SCOPE,
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  };
}

function toContext({ traceId, spanId }: { traceId: string; spanId: string }): SpanContext {
  return { traceId, spanId, traceFlags: SAMPLED };
}
