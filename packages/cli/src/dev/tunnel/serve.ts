import { Agent, request as send } from 'node:http';
import type { ClientRequest, IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { constants, performServerHandshake } from 'node:http2';
import type { IncomingHttpHeaders, ServerHttp2Session, ServerHttp2Stream } from 'node:http2';
import type { Duplex } from 'node:stream';
import { pour } from '@svc/runtime/host';

export interface ServeOptions {
  /** Where the box listens for what comes through. */
  port: number;
  /** Whether the connection is there: Node ends the streams of a lost one as if they were whole. */
  isOpen(): boolean;
}

/** Answers what a relay asks over a connection: each stream is one request to the port, where the box listens for it. */
export function serveStreams(duplex: Duplex, { port, isOpen }: ServeOptions): ServerHttp2Session {
  const session = performServerHandshake(duplex, OPTIONS);
  // This end releases an idle connection long before the box does: none is found closed in the moment it is used again.
  const agent = new Agent({ keepAlive: true, maxFreeSockets: STREAMS, timeout: IDLE_MS });
  session.on('stream', (stream, headers) => passOn(stream, headers, { port, agent, isOpen }));
  session.on('error', () => {});
  session.setLocalWindowSize(SESSION_WINDOW);
  session.once('close', () => agent.destroy());
  return session;
}

// --- internal ---

const STREAMS = 100;
const WINDOW = 128 * 1_024;
const SESSION_WINDOW = 4 * 1_024 * 1_024;
/** The box keeps them for 65 s. */
const IDLE_MS = 20_000;

const OPTIONS = {
  maxSessionMemory: 32,
  // The relay is trusted with as many as those who ask leave again.
  streamResetBurst: 100_000,
  streamResetRate: 10_000,
  settings: { maxConcurrentStreams: STREAMS, initialWindowSize: WINDOW },
};

/** Of one hop, and the relay's to say. */
const HOP = new Set(['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade', 'te', 'trailer']);

function passOn(
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  { port, agent, isOpen }: ServeOptions & { agent: Agent },
): void {
  const isWhole = stream.endAfterHeaders;
  const asked = send({
    host: '127.0.0.1',
    port,
    agent,
    method: String(headers[':method']),
    path: String(headers[':path']),
    headers: toRequestHeaders(headers, isWhole),
  });
  stream.on('error', () => {});
  // Whoever asked has gone, or the connection has.
  stream.once('close', () => asked.destroy());
  if (isWhole) asked.end();
  else stream.pipe(asked, { end: false });
  stream.once('end', () => {
    if (!isWhole && stream.rstCode === constants.NGHTTP2_NO_ERROR && !stream.aborted && isOpen()) asked.end();
  });
  answer(stream, asked);
}

function answer(stream: ServerHttp2Stream, asked: ClientRequest): void {
  let isAnswered = false;
  asked.on('error', () => {
    // The box may say no before it has read all of a body, and close.
    if (!isAnswered) stream.destroy(brokenOff());
  });
  asked.once('response', (response) => {
    isAnswered = true;
    response.on('error', () => {});
    const { statusCode = 502 } = response;
    const endStream = asked.method === 'HEAD' || statusCode === 204 || statusCode === 304;
    if (!respond(stream, response, { endStream })) return void response.destroy();
    response.once('close', () => {
      // An answer that breaks off does not end.
      if (!response.complete) stream.destroy(brokenOff());
    });
    if (endStream) response.resume();
    else pour(response, stream);
  });
}

/** False: whoever asked has gone, or the head is one that HTTP/2 does not have; then the stream has broken off. */
function respond(stream: ServerHttp2Stream, response: IncomingMessage, { endStream }: { endStream: boolean }): boolean {
  // A stream that was reset is not destroyed while some of a body waits in it, and takes no answer any more.
  if (stream.destroyed || stream.closed) return false;
  try {
    stream.respond({ ':status': response.statusCode ?? 502, ...toAnswerHeaders(response.headers) }, { endStream });
    return true;
  } catch {
    stream.destroy(brokenOff());
    return false;
  }
}

/** A stream that is closed, rather than destroyed, ends first: what has come would be taken for all there is. */
function brokenOff(): Error {
  return new Error('The answer has broken off.');
}

function toRequestHeaders(given: IncomingHttpHeaders, isWhole: boolean): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = { host: String(given[':authority']) };
  for (const [name, value] of Object.entries(given))
    if (value !== undefined && !name.startsWith(':') && !HOP.has(name) && name !== 'host') headers[name] = value;
  if (!isWhole && headers['content-length'] === undefined) headers['transfer-encoding'] = 'chunked';
  return headers;
}

function toAnswerHeaders(given: IncomingHttpHeaders): OutgoingHttpHeaders {
  return Object.fromEntries(Object.entries(given).filter(([name]) => !HOP.has(name)));
}
