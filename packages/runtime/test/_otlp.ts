import { createServer } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { until } from './_setup.ts';

type Value = {
  stringValue?: string;
  intValue?: number;
  doubleValue?: number;
  boolValue?: boolean;
  arrayValue?: { values: Value[] };
};
type KeyValue = { key: string; value: Value };

export interface ToldSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: Record<string, unknown>;
  links: { traceId: string; spanId: string }[];
  events: { name: string; attributes: Record<string, unknown> }[];
  status: { code: number; message?: string };
}

export interface ToldMetric {
  name: string;
  sum?: { dataPoints: { attributes: KeyValue[]; asDouble: number }[] };
  histogram?: { dataPoints: { attributes: KeyValue[]; count: number; sum: number }[] };
  gauge?: { dataPoints: unknown[] };
}

export interface Collector {
  url: string;
  spans: ToldSpan[];
  metrics: ToldMetric[];
  /** Attributes of the resource of the last request. */
  resource: Record<string, unknown>;
  requests: { path: string; headers: IncomingHttpHeaders; bytes: Buffer }[];
  /** All that came, as text. */
  text(): string;
  /** The first span that fits, once it has come. */
  untilSpan(isIt: (span: ToldSpan) => boolean): Promise<ToldSpan>;
}

/** A collector that takes OTLP as JSON and keeps it; closed after the test. */
export async function startCollector({ status = 200 } = {}): Promise<Collector> {
  const collector: Collector = {
    url: '',
    spans: [],
    metrics: [],
    resource: {},
    requests: [],
    text: () => collector.requests.map(({ bytes }) => bytes.toString()).join('\n'),
    async untilSpan(isIt) {
      await until(() => collector.spans.some(isIt), 20_000);
      return collector.spans.find(isIt) as ToldSpan;
    },
  };
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const bytes = Buffer.concat(parts);
    collector.requests.push({ path: request.url ?? '', headers: request.headers, bytes });
    if (request.headers['content-type'] === 'application/json')
      read(collector, JSON.parse(bytes.toString()) as Payload);
    response.writeHead(status, { 'content-type': 'application/json' }).end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  collector.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return collector;
}

/** Samples of the text format of Prometheus, by name and labels as they are written. Throws at a line that is none. */
export function parseMetrics(text: string): Map<string, number> {
  const samples = new Map<string, number>();
  for (const line of text.split('\n')) {
    if (line === '' || /^# (?:HELP|TYPE) [a-zA-Z_:][\w:]* .+$/.test(line)) continue;
    const [, name = '', labels = '', value = ''] = SAMPLE.exec(line) ?? [];
    if (name === '') throw new Error(`"${line}" is no sample.`);
    const sorted = [...labels.matchAll(LABEL)].map(([label]) => label).toSorted();
    samples.set(`${name}{${sorted.join(',')}}`, value === '+Inf' ? Infinity : Number(value));
  }
  return samples;
}

export function toAttributes(pairs: KeyValue[] = []): Record<string, unknown> {
  return Object.fromEntries(pairs.map(({ key, value }) => [key, toPlain(value)]));
}

// --- internal ---

const LABEL = /[a-zA-Z_]\w*="(?:[^"\\\n]|\\.)*"/g;
const SAMPLE = /^([a-zA-Z_:][\w:]*)(?:\{((?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\.)*",?)*)\})? (\S+)$/;

interface Payload {
  resourceSpans?: { resource: { attributes: KeyValue[] }; scopeSpans: { spans: RawSpan[] }[] }[];
  resourceMetrics?: { resource: { attributes: KeyValue[] }; scopeMetrics: { metrics: ToldMetric[] }[] }[];
}

type RawSpan = Omit<ToldSpan, 'attributes' | 'events'> & {
  attributes: KeyValue[];
  events?: { name: string; attributes: KeyValue[] }[];
};

function read(collector: Collector, { resourceSpans = [], resourceMetrics = [] }: Payload): void {
  for (const { resource, scopeSpans } of resourceSpans) {
    collector.resource = toAttributes(resource.attributes);
    for (const { spans } of scopeSpans) collector.spans.push(...spans.map(toSpan));
  }
  for (const { resource, scopeMetrics } of resourceMetrics) {
    collector.resource = toAttributes(resource.attributes);
    collector.metrics = scopeMetrics.flatMap(({ metrics }) => metrics);
  }
}

function toSpan(span: RawSpan): ToldSpan {
  const events = (span.events ?? []).map(({ name, attributes }) => ({ name, attributes: toAttributes(attributes) }));
  return { ...span, links: span.links ?? [], events, attributes: toAttributes(span.attributes) };
}

function toPlain(value: Value): unknown {
  if (value.arrayValue) return value.arrayValue.values.map(toPlain);
  const [plain] = Object.values(value);
  return plain;
}
