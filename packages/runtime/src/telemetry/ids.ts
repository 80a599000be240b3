import { randomBytes } from 'node:crypto';
import { toTraceId } from '../engine/ids.ts';

/** Where a span is. */
export interface SpanPlace {
  traceId: string;
  spanId: string;
}

/** What an incoming request says about the trace it belongs to. */
export interface RemoteSpan extends SpanPlace {
  isSampled: boolean;
}

/** The span of a run. The same in every process, so that a run that survives restarts is one trace. */
export function placeOfRun(runId: string): SpanPlace {
  const traceId = toTraceId(runId);
  // The random half of the id.
  return { traceId, spanId: traceId.slice(16) };
}

/** The span of one call of a run's body: a step, a model call, a tool, a wait. */
export function placeOfCall(runId: string, call: number): SpanPlace {
  const { traceId, spanId } = placeOfRun(runId);
  const [high, low] = [spanId.slice(0, 8), spanId.slice(8)];
  // Odd factors: no two calls of a run get the same, and none gets that of the run.
  return { traceId, spanId: mix(high, Math.imul(call + 1, 0x9e3779b1)) + mix(low, Math.imul(call + 1, 0x85ebca6b)) };
}

export function newSpanId(): string {
  return randomBytes(8).toString('hex');
}

export function newTraceId(): string {
  return randomBytes(16).toString('hex');
}

/** The W3C header that hands a trace on. */
export function toTraceparent({ traceId, spanId }: SpanPlace, isSampled: boolean): string {
  return `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`;
}

/** Undefined: there is none, or it is none. */
export function parseTraceparent(text: string | null): RemoteSpan | undefined {
  const [, version, traceId = '', spanId = '', flags = ''] = TRACEPARENT.exec(text ?? '') ?? [];
  if (version === undefined || version === 'ff' || isZero(traceId) || isZero(spanId)) return undefined;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

// --- internal ---

/** A later version may have more behind the flags. */
const TRACEPARENT = /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(?:-.*)?$/;

function isZero(hex: string): boolean {
  return /^0*$/.test(hex);
}

function mix(hex: string, bits: number): string {
  return ((Number.parseInt(hex, 16) ^ bits) >>> 0).toString(16).padStart(8, '0');
}
