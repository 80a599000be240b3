import type { SpanPlace } from './ids.ts';

/** A finished span as plain data: what the libraries are handed once they are loaded. */
export interface SpanData extends SpanPlace {
  parentSpanId?: string;
  /** The parent is in another process, as that of an incoming request. */
  isParentRemote?: boolean;
  name: string;
  kind: 'internal' | 'server' | 'client';
  /** Milliseconds since 1970. */
  start: number;
  end: number;
  attributes: Attributes;
  events?: SpanEvent[];
  links?: SpanLink[];
  /** It failed, and why. */
  error?: SpanError;
}

export type Attributes = Record<string, string | number | boolean | string[]>;

export interface SpanEvent {
  name: string;
  at: number;
  attributes: Attributes;
}

export interface SpanLink extends SpanPlace {
  attributes: Attributes;
}

export interface SpanError {
  type: string;
  message: string;
}
