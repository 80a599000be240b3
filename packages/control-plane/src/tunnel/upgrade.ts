import { STATUS_CODES } from 'node:http';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Log } from '../../../runtime/src/log.ts';
import { PlaneError } from '../errors.ts';

/** Named beside the token, by a box that can set no header. */
export const SUBPROTOCOL = 'svc-tunnel';

/** The token a box shows: in `authorization`, or as the second subprotocol. Undefined: none. */
export function readToken({ headers }: IncomingMessage): string | undefined {
  const [, bearer] = /^Bearer ([\w.-]{1,600})$/i.exec(headers.authorization ?? '') ?? [];
  if (bearer !== undefined) return bearer;
  const [protocol, token] = (headers['sec-websocket-protocol'] ?? '').split(',').map((one) => one.trim());
  return protocol === SUBPROTOCOL ? token : undefined;
}

/** Answers a connection that is not taken over, and ends it. */
export function refuseUpgrade(socket: Duplex, thrown: unknown, log: Log): void {
  if (!(thrown instanceof PlaneError)) log.error('A tunnel could not be attached.', { error: thrown });
  const error =
    thrown instanceof PlaneError
      ? thrown
      : new PlaneError('internal', 'Something went wrong inside the control plane. Its log says what.');
  const body = JSON.stringify({ code: error.code, message: error.message });
  const head = [
    `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status] ?? ''}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ];
  socket.once('finish', () => socket.destroy());
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}
