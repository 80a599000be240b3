import type { PartCall } from '../ai/part-calls.ts';
import { atMost } from '../engine/at-most.ts';
import { runOutside } from '../engine/context.ts';
import type { Journal } from '../engine/journal.ts';
import { nameOfStep } from '../engine/lifecycle.ts';
import type { Observer } from '../engine/observer.ts';
import type { Log } from '../log.ts';
import type { Mask } from '../mask.ts';
import { createFigures } from './figures.ts';
import { createGauges } from './gauges.ts';
import type { Gauges } from './gauges.ts';
import type { Otlp, OtlpOptions } from './otlp.ts';
import { toProviderFacts, UNKNOWN_PROVIDER } from './provider-name.ts';
import { toRequestSpan } from './request-span.ts';
import type { Answered } from '../http/app.ts';
import type { ResourceFacts } from './resource.ts';
import { createSampler } from './sampler.ts';
import type { TelemetrySettings } from './settings.ts';
import type { SpanData } from './span.ts';
import { createStallWatch, isLong } from './stalls.ts';
import type { StallReport, StallWatch } from './stalls.ts';
import { createTraces } from './traces.ts';

/** What a box exports of itself: figures always, traces where they are wanted. */
export interface Telemetry {
  readonly observer: Observer;
  /** Where model calls go; its key is a secret from then on. */
  sawProvider(provider: { baseUrl: string; apiKey?: string }): void;
  /** What a call to a model carries so that its provider can go on with the trace. */
  modelHeaders(): Record<string, string>;
  /** A model call that is a part of a step, and so in no record. */
  called(part: PartCall): void;
  answered(request: Answered): void;
  /** The outcome of a message to a receiver of `notify`. */
  notified(receiver: string, outcome: string): void;
  /** From now on the box has begun: a stall of its event loop is counted, and logged. */
  watchStalls(): void;
  /** A stream to a client. Answers how to end it. */
  enterStream(): () => void;
  /** The figures as Prometheus reads them. */
  write(): Promise<string>;
  /** Sends what there is, for at most some seconds. */
  close(): Promise<void>;
}

export interface TelemetryOptions {
  settings: TelemetrySettings;
  service: { name: string; version: string; instanceId: string };
  journal: Pick<Journal, 'code' | 'getRecords' | 'hooks' | 'listRuns' | 'notices' | 'queue' | 'tallyRuns'>;
  liveRuns(): number;
  /** `<workflow>: <step>` of the steps under way, at most so many. */
  busySteps(most: number): string[];
  /** Long stalls of the event loop are logged, too. */
  logsStalls: boolean;
  log: Log;
  mask: Mask;
}

/** The libraries are loaded where a collector is configured, and when the figures are first asked for. */
export async function createTelemetry(options: TelemetryOptions): Promise<Telemetry> {
  const { settings, service, journal, log, mask } = options;
  const figures = createFigures();
  let provider = UNKNOWN_PROVIDER;
  let gauges: Gauges | undefined;
  let streams = 0;
  let stalls: StallWatch | undefined;
  const readGauges = () =>
    runOutside(() =>
      (gauges ??= createGauges({ journal, liveRuns: options.liveRuns, openStreams: () => streams })).read(),
    );
  const source = { figures, gauges: readGauges, since: Date.now() };
  const facts = toFacts(service, settings);
  const otlp = await openOtlp({ settings, facts, source, onFailed: createWarner(log) });
  const sampler = createSampler(settings.sampler, settings.sampleRatio);
  const { capturesContent } = settings;
  const emit = (span: SpanData) => otlp?.emit(span);
  const traces =
    otlp && settings.traces
      ? createTraces({ journal, sampler, mask, capturesContent, provider: () => provider, emit })
      : undefined;

  return {
    observer: {
      created: (run) => traces?.created(run),
      started: (run) => figures.started(run),
      appended(run, records) {
        for (const record of records) {
          figures.step(run, record, provider.name);
          stalls?.attempted({ name: `${run.name}: ${nameOfStep(record)}`, start: record.startedAt, end: record.at });
        }
        traces?.appended(run, records);
      },
      blocked: (run) => figures.blocked(run),
      ended(run) {
        figures.ended(run);
        traces?.ended(run);
      },
    },
    sawProvider({ baseUrl, apiKey }) {
      provider = toProviderFacts(baseUrl);
      mask.add(apiKey);
    },
    modelHeaders: () => traces?.headers() ?? {},
    called(part) {
      figures.part(part, provider.name);
      traces?.part(part);
    },
    answered(request) {
      const { method, route = '', status, start, end } = request;
      figures.request({ method, route, status, seconds: (end - start) / 1_000 });
      stalls?.answered({ method, route, start, end });
      const span = traces && toRequestSpan(request, sampler);
      if (span) traces.emit(span);
    },
    notified: figures.notified,
    watchStalls() {
      stalls ??= createStallWatch({
        busySteps: options.busySteps,
        onStall: ({ ms, cause }) => figures.stalled(ms / 1_000, cause),
        onReport: (report) => options.logsStalls && logStall(log, report),
      });
    },
    enterStream() {
      streams += 1;
      return () => void (streams -= 1);
    },
    async write() {
      const { writeMetrics } = await import('./prometheus.ts');
      return writeMetrics({ ...source, facts });
    },
    async close() {
      stalls?.close();
      if (otlp) await atMost(CLOSE_MS, otlp.close());
      gauges?.stop();
    },
  };
}

// --- internal ---

/** How long a collector that does not answer holds up the end of the process. */
const CLOSE_MS = 2_000;
const WARN_EVERY_MS = 60_000;

function logStall(log: Log, report: StallReport): void {
  const { ms, steps, requests, unreported } = report;
  log[isLong(report) ? 'warn' : 'info'](
    `The event loop was held for ${ms} ms: nothing else was answered meanwhile. Move long synchronous work to a worker thread, or await between parts of it.`,
    { ms, steps, requests, unreported },
  );
}

async function openOtlp(options: OtlpOptions): Promise<Otlp | undefined> {
  const { traces, metrics } = options.settings;
  if (!traces && !metrics) return undefined;
  const { createOtlp } = await import('./otlp.ts');
  return createOtlp(options);
}

/** One warning a minute, whatever fails. */
function createWarner(log: Log): (signal: string, reason: string) => void {
  let next = 0;
  return (signal, reason) => {
    if (performance.now() < next) return;
    next = performance.now() + WARN_EVERY_MS;
    log.warn('The collector takes nothing; what it should have got is lost. Check OTEL_EXPORTER_OTLP_ENDPOINT.', {
      signal,
      reason,
    });
  };
}

function toFacts(service: TelemetryOptions['service'], { serviceName, resource }: TelemetrySettings): ResourceFacts {
  return {
    serviceName: serviceName ?? service.name,
    serviceVersion: service.version,
    instanceId: service.instanceId,
    more: resource,
  };
}
