import { constants } from 'node:http2';
import type { ClientHttp2Stream, IncomingHttpHeaders, IncomingHttpStatusHeader, OutgoingHttpHeaders } from 'node:http2';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { pour } from '../../../runtime/src/http/pour.ts';
import { PlaneError } from '../errors.ts';
import type { Attachment } from './attachment.ts';
import { hasBody } from '../http/hop.ts';
import { writeTogether } from '../http/write-together.ts';
import { findFault, toAnswerHeaders, toBoxHeaders } from './headers.ts';
import type { Outside } from './headers.ts';

/** Asks the box, and hands on its answer as it comes. Whichever side goes, the other is ended. */
export function pass(
  attachment: Attachment | undefined,
  [request, response]: [IncomingMessage, ServerResponse],
  outside: Outside,
): void {
  const fault = findFault(request);
  if (fault !== undefined) return refuse([request, response], new PlaneError('invalid_request', fault));
  if (!attachment) return refuse([request, response], closed());
  const endStream = !hasBody(request.headers);
  const stream = openStream(attachment, toBoxHeaders(request, outside), endStream);
  if (stream instanceof PlaneError) return refuse([request, response], stream);
  let isAnswered = false;
  stream.once('response', (headers) => {
    // What is attached may be any program: an answer that HTTP does not have is one that did not come.
    isAnswered = writeHead(response, headers);
    if (!isAnswered) return stream.destroy(brokenAnswer());
    // A stream begins before there is anything in it.
    response.flushHeaders();
    stream.on('data', () => writeTogether(response));
    stream.pipe(response, { end: false });
    stream.once('end', () => {
      // Of an answer that has broken off, an end would make a whole one.
      if (stream.rstCode === constants.NGHTTP2_NO_ERROR && !stream.aborted && attachment.isOpen()) response.end();
    });
  });
  stream.once('close', () => {
    request.resume();
    if (!isAnswered) return refuse([request, response], closed());
    if (!response.writableEnded) response.destroy();
  });
  // Not closed but destroyed: a stream that is closed ends first, and half a body would be taken for a whole one.
  response.once('close', () => stream.destroyed || stream.destroy(gone()));
  // A body that breaks off breaks off at the box, too.
  request.once('close', () => request.complete || stream.destroy(gone()));
  if (!endStream) pour(request, stream);
}

/** An answer of the relay itself. */
export function refuse([request, response]: [IncomingMessage, ServerResponse], error: PlaneError): void {
  if (response.headersSent || response.destroyed) return void response.destroy();
  const { code, message, status, headers } = error;
  request.resume();
  // The rest of a body is not waited for.
  const connection = request.complete ? {} : { connection: 'close' };
  response.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
    ...connection,
    ...headers,
  });
  response.end(request.method === 'HEAD' ? undefined : JSON.stringify({ code, message }));
}

// --- internal ---

function openStream(
  attachment: Attachment,
  headers: OutgoingHttpHeaders,
  endStream: boolean,
): ClientHttp2Stream | PlaneError {
  try {
    return attachment.open(headers, { endStream }) ?? busy();
  } catch (error) {
    // Node refuses a header that HTTP/2 does not have; anything else is a connection that is going.
    const { code = '' } = error as NodeJS.ErrnoException;
    const isHeader = /^ERR_(?:HTTP2_(?:HEADER|INVALID|PSEUDO)|INVALID_)/.test(code) && !code.endsWith('SESSION');
    return isHeader ? new PlaneError('invalid_request', 'A header of the request cannot be passed on.') : closed();
  }
}

/** False: the status is none of a final answer, or a header none of HTTP, and nothing is written. */
function writeHead(response: ServerResponse, headers: IncomingHttpHeaders & IncomingHttpStatusHeader): boolean {
  const { ':status': status = 0 } = headers;
  if (status < 200 || status > 599) return false;
  try {
    writeTogether(response);
    response.writeHead(status, toAnswerHeaders(headers));
    return true;
  } catch {
    return false;
  }
}

function brokenAnswer(): Error {
  return new Error('The answer is not valid HTTP.');
}

function gone(): Error {
  return new Error('The client has disconnected.');
}

function closed(): PlaneError {
  return new PlaneError('tunnel_closed', 'No `svc dev` answers behind this tunnel. Start it, or look whether it runs.');
}

function busy(): PlaneError {
  return new PlaneError('tunnel_busy', 'This tunnel carries as many requests as it may. Try again in a moment.', {
    headers: { 'retry-after': '1' },
  });
}
