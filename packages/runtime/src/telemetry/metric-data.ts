import type { Attributes, HrTime } from '@opentelemetry/api';
import { ValueType } from '@opentelemetry/api';
import type { Resource } from '@opentelemetry/resources';
import { AggregationTemporality, DataPointType } from '@opentelemetry/sdk-metrics';
import type { CollectionResult, MetricData, ResourceMetrics } from '@opentelemetry/sdk-metrics';
import type { Figures } from './figures.ts';
import type { Gauge } from './gauges.ts';
import type { Description, Point } from './tally.ts';

export interface MetricSource {
  figures: Figures;
  gauges(): Promise<Gauge[]>;
  /** Since when is counted, in milliseconds since 1970. */
  since: number;
  resource: Resource;
}

/** All figures in the shape the libraries export. */
export async function collectMetrics(source: MetricSource): Promise<CollectionResult> {
  const span = { startTime: toHrTime(source.since), endTime: toHrTime(Date.now()) };
  const { counters, histograms } = source.figures;
  const metrics: MetricData[] = [
    ...counters.map(({ description, points }) => ({
      descriptor: toDescriptor(description),
      aggregationTemporality: AggregationTemporality.CUMULATIVE,
      dataPointType: DataPointType.SUM as const,
      isMonotonic: true,
      dataPoints: toPoints(points, span, ({ sum }) => sum),
    })),
    ...histograms.map(({ description, points, bounds }) => ({
      descriptor: toDescriptor(description),
      aggregationTemporality: AggregationTemporality.CUMULATIVE,
      dataPointType: DataPointType.HISTOGRAM as const,
      dataPoints: toPoints(points, span, ({ sum, count, buckets }) => ({
        sum,
        count,
        buckets: { boundaries: [...bounds], counts: [...buckets] },
      })),
    })),
    ...(await source.gauges()).map(({ description, points }) => ({
      descriptor: toDescriptor(description),
      aggregationTemporality: AggregationTemporality.CUMULATIVE,
      dataPointType: DataPointType.GAUGE as const,
      dataPoints: points.map(({ labels, value }) => ({ ...span, attributes: labels, value })),
    })),
  ];
  const used = metrics.filter(({ dataPoints }) => dataPoints.length > 0);
  const resourceMetrics: ResourceMetrics = {
    resource: source.resource,
    scopeMetrics: [{ scope: SCOPE, metrics: used }],
  };
  return { resourceMetrics, errors: [] };
}

export const SCOPE = { name: 'svc' };

export function toHrTime(ms: number): HrTime {
  const seconds = Math.floor(ms / 1_000);
  return [seconds, Math.round((ms - seconds * 1_000) * 1_000_000)];
}

// --- internal ---

interface Span {
  startTime: HrTime;
  endTime: HrTime;
}

function toPoints<T>(points: ReadonlyMap<string, Point>, span: Span, valueOf: (point: Point) => T) {
  return [...points.values()].map((point) => ({
    ...span,
    attributes: point.labels as Attributes,
    value: valueOf(point),
  }));
}

function toDescriptor({ name, unit, text }: Description) {
  return { name, unit, description: text, valueType: ValueType.DOUBLE };
}
