import { isUtf8 } from 'node:buffer';
import { bytesOf, keepBytes, readBytes } from './bodies.ts';
import { fromRecorded, toRecorded } from './classes.ts';
import type { RecordedInstance } from './classes.ts';
import { currentContext } from '../context.ts';
import { AbortingAnswer, reduceSignal, reviveSignal } from './signals.ts';
import type { Abort, SignalRef } from './signal-ref.ts';
import { fromStepRef, toStepRef } from './steps.ts';
import type { StepRef } from './steps.ts';
import { runStreamOf, toWritableRef } from './stream-ref.ts';
import type { StreamRef } from './stream-ref.ts';
import { createRunReadable, createRunWritable } from './streams.ts';
import type { FrameCodec } from './streams.ts';

/** An object that is not plain data, as plain data. */
export type RecordedValue =
  | ({ type: 'class' } & RecordedInstance)
  | ({ type: 'step' } & StepRef)
  | ({ type: 'signal' } & SignalRef)
  | { type: 'aborting'; value: unknown; aborts: Abort[] }
  | ({ type: 'readable' } & StreamRef & { runId: string })
  | ({ type: 'writable' } & Pick<StreamRef, 'name' | 'runId'>)
  | { type: 'headers'; entries: [string, string][] }
  | { type: 'form'; entries: [string, string][] }
  | ({ type: 'request' } & RecordedRequest)
  | ({ type: 'response' } & RecordedResponse);

/**
 * What devalue does not know of: classes that say how they are recorded, step functions, Request, Response, Headers,
 * FormData of texts, and streams of a run. False: plain data, or nothing that can be recorded.
 */
export function reduceInstance(value: unknown): RecordedValue | false {
  if (typeof value === 'function') return reduceFunction(value);
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  // Most values are plain, and this is asked of every one of them.
  if (prototype === Object.prototype || prototype === Array.prototype || prototype === null) return false;
  const recorded = toRecorded(value);
  if (recorded) return { type: 'class', ...recorded };
  const signal = reduceSignal(value);
  if (signal) return { type: 'signal', ...signal };
  if (value instanceof AbortingAnswer) return { type: 'aborting', value: value.value, aborts: value.aborts };
  const stream = runStreamOf(value);
  if (stream)
    return value instanceof WritableStream ? { type: 'writable', ...toWritableRef(stream) } : toReadable(stream);
  if (value instanceof Headers) return { type: 'headers', entries: [...value] };
  if (value instanceof FormData) return reduceForm(value);
  if (value instanceof Request) return reduceRequest(value);
  return value instanceof Response && reduceResponse(value);
}

export function reviveInstance(plain: RecordedValue, codec: FrameCodec): unknown {
  switch (plain.type) {
    case 'class':
      return fromRecorded(plain);
    case 'step':
      return fromStepRef(plain);
    case 'signal':
      return reviveSignal(plain);
    case 'aborting':
      return new AbortingAnswer(plain.value, plain.aborts);
    case 'readable': {
      const { type: _, ...ref } = plain;
      return createRunReadable(ref, codec);
    }
    case 'writable':
      return createRunWritable(plain, codec);
    case 'headers':
      return new Headers(plain.entries);
    case 'form':
      return reviveForm(plain.entries);
    case 'request':
      return reviveRequest(plain, codec);
    case 'response':
      return reviveResponse(plain);
  }
}

/** Why an object that is not plain cannot be recorded. */
export function reasonOfInstance(value: unknown): string {
  if (value instanceof Request || value instanceof Response)
    return 'its body is a stream, a Blob or a form with files, or has been read already; hand on what was read';
  if (value instanceof AbortSignal || value instanceof AbortController)
    return 'an abort signal goes from a body to its steps alone';
  if (value instanceof FormData) return 'it holds a file; hand on the bytes';
  if (value instanceof ReadableStream || value instanceof WritableStream)
    return 'it is a stream of no run; return it from a step, or take getWritable()';
  return 'it is an instance of a class without static [WORKFLOW_SERIALIZE] and [WORKFLOW_DESERIALIZE] of its own';
}

const ANSWER = Symbol.for('svc.engine.answer');

/** The stream of the run a request's answer is waited for on. */
export function askAnswer(request: Request, stream: string): Request {
  return Object.defineProperty(request, ANSWER, { value: stream });
}

// --- internal ---

interface RecordedMessage {
  headers: [string, string][];
  /** Text where the bytes are UTF-8, which a person can read in the journal. */
  body: string | Uint8Array | null;
}

interface RecordedRequest extends RecordedMessage {
  method: string;
  url: string;
  answer?: string;
}

interface RecordedResponse extends RecordedMessage {
  status: number;
  statusText: string;
  url: string;
  redirected: boolean;
}

function reduceFunction(value: unknown): RecordedValue | false {
  const ref = toStepRef(value);
  return ref !== undefined && { type: 'step', ...ref };
}

function toReadable(ref: StreamRef): RecordedValue | false {
  return ref.runId !== undefined && { type: 'readable', ...ref, runId: ref.runId };
}

function reduceForm(form: FormData): RecordedValue | false {
  const entries: [string, string][] = [];
  for (const [name, value] of form) {
    if (typeof value !== 'string') return false;
    entries.push([name, value]);
  }
  return { type: 'form', entries };
}

function reviveForm(entries: [string, string][]): FormData {
  const form = new FormData();
  for (const [name, value] of entries) form.append(name, value);
  return form;
}

function reduceMessage(message: Request | Response): RecordedMessage | undefined {
  const bytes = bytesOf(message);
  if (bytes === undefined) return undefined;
  const body = bytes && (isUtf8(bytes) ? Buffer.from(bytes).toString() : new Uint8Array(bytes));
  return { headers: [...message.headers], body };
}

function reduceRequest(request: Request): RecordedValue | false {
  const message = reduceMessage(request);
  const answer = (request as unknown as Record<symbol, string | undefined>)[ANSWER];
  const { method, url } = request;
  return !!message && { type: 'request', method, url, ...message, ...(answer === undefined ? {} : { answer }) };
}

function reduceResponse(response: Response): RecordedValue | false {
  const message = reduceMessage(response);
  const { status, statusText, url, redirected } = response;
  return !!message && { type: 'response', status, statusText, url, redirected, ...message };
}

function toBytes({ body }: RecordedMessage): Uint8Array<ArrayBuffer> | null {
  return body === null ? null : typeof body === 'string' ? Buffer.from(body) : new Uint8Array(body);
}

function reviveRequest(plain: RecordedRequest, codec: FrameCodec): Request {
  const { url, method, headers, answer } = plain;
  const bytes = toBytes(plain);
  const request = keepBytes(new Request(url, { method, headers, body: bytes }), bytes);
  if (answer === undefined) return request;
  const context = currentContext();
  const respondWith = async (response: Response): Promise<void> => {
    if (context?.kind !== 'step') throw new Error('respondWith() works in a step. Hand the request to one.');
    await readBytes(response, ANSWER_BYTES);
    await context.execution.writeChunks([{ namespace: answer, payload: codec.encode(response, 'response') }]);
  };
  Object.defineProperty(request, 'respondWith', { value: respondWith });
  return askAnswer(request, answer);
}

const ANSWER_BYTES = 1_048_576;

function reviveResponse(plain: RecordedResponse): Response {
  const { status, statusText, headers, url, redirected } = plain;
  const bytes = toBytes(plain);
  // 0 is the status of Response.error(), which cannot be made with it.
  const response = status === 0 ? Response.error() : new Response(bytes, { status, statusText, headers });
  Object.defineProperties(response, { url: { value: url }, redirected: { value: redirected } });
  return keepBytes(response, bytes);
}
