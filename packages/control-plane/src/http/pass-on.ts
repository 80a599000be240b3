import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { pour } from '../../../runtime/src/http/pour.ts';
import { hasBody } from './hop.ts';

/**
 * Sends what `ask` asks, with the body of the request, and answers the head of what comes. Undefined: whoever asked went before
 * there was one. Rejects where no answer begins.
 */
export function beginAnswer(
  request: IncomingMessage,
  response: ServerResponse,
  ask: () => ClientRequest,
): Promise<IncomingMessage | undefined> {
  return begin(request, response, ask, false);
}

/** Hands on what comes no faster than it is taken. Whichever side goes, the other is ended. */
export function passAnswer(answer: IncomingMessage, response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    answer.once('close', () => {
      // A broken answer stays broken: an end would make a whole one of it.
      if (!answer.complete) response.destroy();
    });
    answer.on('error', () => response.destroy());
    response.once('close', () => {
      answer.destroy();
      resolve();
    });
    pour(answer, response);
  });
}

// --- internal ---

const CONNECT_MS = 5_000;
const SAFE = new Set(['GET', 'HEAD']);

function begin(
  request: IncomingMessage,
  response: ServerResponse,
  ask: () => ClientRequest,
  isAgain: boolean,
): Promise<IncomingMessage | undefined> {
  return new Promise((resolve, reject) => {
    const asked = ask();
    let isAnswered = false;
    const onGone = () => {
      asked.destroy();
      resolve(undefined);
    };
    response.once('close', onGone);
    asked.once('socket', limitConnect);
    asked.once('response', (answer) => {
      isAnswered = true;
      response.off('close', onGone);
      resolve(answer);
    });
    asked.on('error', (error: NodeJS.ErrnoException) => {
      // What is asked may say no before it has read all of a body, and close.
      if (isAnswered) return;
      response.off('close', onGone);
      // It closed a connection that had been idle in the moment this was sent on it.
      const isStale = asked.reusedSocket && error.code === 'ECONNRESET' && SAFE.has(request.method ?? '');
      if (isStale && !isAgain && !hasBody(request.headers)) resolve(begin(request, response, ask, true));
      else reject(error);
    });
    if (!hasBody(request.headers)) return void asked.end();
    // A body that breaks off breaks off there, too: an end would make a whole one of it.
    request.once('close', () => request.complete || asked.destroy());
    pour(request, asked);
  });
}

function limitConnect(socket: Socket): void {
  if (!socket.connecting) return;
  const timer = setTimeout(() => socket.destroy(new Error('The connection was not made in time.')), CONNECT_MS);
  socket.once('connect', () => clearTimeout(timer));
  socket.once('close', () => clearTimeout(timer));
}
