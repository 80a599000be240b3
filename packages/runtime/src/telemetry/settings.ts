import { readVariable } from '../config.ts';
import type { VariableName } from '../config.ts';
import { SAMPLERS } from './sampler.ts';
import type { SamplerName } from './sampler.ts';

/** What is exported where, as the environment says. */
export interface TelemetrySettings {
  /** Undefined: no traces leave the box. */
  traces?: OtlpTarget;
  /** Undefined: figures are only handed out at `/metrics`. */
  metrics?: OtlpTarget;
  metricIntervalMs: number;
  /** Undefined: the slug. */
  serviceName?: string;
  resource: Record<string, string>;
  sampler: SamplerName;
  sampleRatio: number;
  /** Spans carry what was said to models and tools. */
  capturesContent: boolean;
  /** Lets a scraper in. */
  metricsToken?: string;
}

export interface OtlpTarget {
  url: string;
  headers: Record<string, string>;
  encoding: 'json' | 'protobuf';
}

export const PROTOCOLS = ['http/json', 'http/protobuf'] as const;
export const EXPORTERS = ['otlp', 'none'] as const;

/** The values have been checked: a broken one reads as unset. */
export function readTelemetry(env: NodeJS.ProcessEnv): TelemetrySettings {
  const read = (name: VariableName) => readVariable(env, name);
  const isOff = read('OTEL_SDK_DISABLED')?.toLowerCase() === 'true';
  const traces = isOff ? undefined : readTarget(env, 'traces');
  const metrics = isOff ? undefined : readTarget(env, 'metrics');
  const { 'service.name': named, ...resource } = parsePairs(read('OTEL_RESOURCE_ATTRIBUTES') ?? '');
  const serviceName = read('OTEL_SERVICE_NAME') ?? named;
  const metricsToken = read('SVC_METRICS_TOKEN');
  const sampler = SAMPLERS.find((name) => name === read('OTEL_TRACES_SAMPLER'));
  return {
    ...(traces ? { traces } : {}),
    ...(metrics ? { metrics } : {}),
    metricIntervalMs: Number(read('OTEL_METRIC_EXPORT_INTERVAL') ?? 60_000),
    ...(serviceName === undefined ? {} : { serviceName }),
    resource,
    sampler: sampler ?? 'parentbased_always_on',
    sampleRatio: Number(read('OTEL_TRACES_SAMPLER_ARG') ?? 1),
    capturesContent: read('OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT')?.toLowerCase() === 'true',
    ...(metricsToken === undefined ? {} : { metricsToken }),
  };
}

/** `a=1,b=2`, as headers and resource attributes are written. Undefined: an entry is no pair. */
export function findPairs(text: string): Record<string, string> | undefined {
  const entries = text.split(',').flatMap((entry) => entry.trim() || []);
  const pairs = entries.map((entry) => /^([^=\s]+)\s*=\s*(.*)$/.exec(entry));
  if (pairs.includes(null)) return undefined;
  return Object.fromEntries(pairs.map((pair) => [pair?.[1] ?? '', decodePercent(pair?.[2] ?? '')]));
}

// --- internal ---

const VARIABLES = {
  traces: { exporter: 'OTEL_TRACES_EXPORTER', endpoint: 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT' },
  metrics: { exporter: 'OTEL_METRICS_EXPORTER', endpoint: 'OTEL_EXPORTER_OTLP_METRICS_ENDPOINT' },
} as const;

function readTarget(env: NodeJS.ProcessEnv, signal: 'traces' | 'metrics'): OtlpTarget | undefined {
  const { exporter, endpoint } = VARIABLES[signal];
  if (readVariable(env, exporter) === 'none') return undefined;
  const base = readVariable(env, 'OTEL_EXPORTER_OTLP_ENDPOINT');
  const url = readVariable(env, endpoint) ?? (base && `${base.replace(/\/+$/, '')}/v1/${signal}`);
  if (url === undefined) return undefined;
  const headers = parsePairs(readVariable(env, 'OTEL_EXPORTER_OTLP_HEADERS') ?? '');
  const encoding = readVariable(env, 'OTEL_EXPORTER_OTLP_PROTOCOL') === 'http/protobuf' ? 'protobuf' : 'json';
  return { url, headers, encoding };
}

function parsePairs(text: string): Record<string, string> {
  return findPairs(text) ?? {};
}

function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
