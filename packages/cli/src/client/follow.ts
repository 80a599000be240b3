import { setTimeout as sleep } from 'node:timers/promises';
import { notABox, openResponse, parseBody, toAddress, toBoxError, toConnectionError } from './connection.ts';
import type { BoxRequest, Connection } from './connection.ts';
import { CliError } from '../errors.ts';
import { readFrames } from './frames.ts';
import type { Frame } from './frames.ts';
import { constant, object, oneOf } from '../payload/payload.ts';
import type { TypeOf } from '../payload/payload.ts';

/** How long a box may be away, and how long it may say nothing, before it counts as lost. */
export interface Patience {
  awayMs: number;
  silentMs: number;
}

/** The line a program reads on stderr where a stream is cut off, and where it goes on. */
export const CONNECTION_LINE = object({
  type: constant('connection'),
  state: oneOf(['lost', 'open'], 'Whether the connection to the box is lost, or open again.'),
});

/**
 * The frames of a stream, over lost connections: the next one begins behind the last frame that came. The first must
 * stand. Ends when the box says so, or with Ctrl-C.
 */
export async function* followStream(
  connection: Connection,
  request: BoxRequest,
  { awayMs, silentMs }: Patience = PATIENCE,
): AsyncGenerator<Frame> {
  const loss = watchLoss(connection);
  let last: string | undefined;
  let retryMs = 1_000;
  while (!connection.signal.aborted) {
    let isExpired = false;
    try {
      for await (const frame of openStream(connection, request, { last, silentMs, onOpen: loss.end })) {
        last = frame.id ?? last;
        retryMs = frame.retry ?? retryMs;
        if (frame.event === 'end') return;
        isExpired ||= frame.event === EXPIRED;
        if (frame.data !== undefined && !isExpired) yield frame;
      }
    } catch (error) {
      if (connection.signal.aborted) return;
      if (!loss.isBearable(error, awayMs)) throw toStreamError(error, connection);
    }
    connection.trace(`The stream ended; connecting again${last === undefined ? '' : ` after ${last}`}.`);
    // Where the token has ended the box is there.
    if (!isExpired) loss.begin();
    await sleep(retryMs, undefined, { signal: connection.signal }).catch(() => undefined);
  }
}

/** The frames of one answer, to its end or until nothing has come for a while. Throws a CliError. */
export async function* readStream(connection: Connection, request: BoxRequest): AsyncGenerator<Frame> {
  try {
    const options = { last: undefined, silentMs: PATIENCE.silentMs, onOpen() {} };
    for await (const frame of openStream(connection, request, options)) if (frame.data !== undefined) yield frame;
  } catch (error) {
    throw toStreamError(error, connection);
  }
}

// --- internal ---

/** A box says that it is there every 15 seconds. */
const PATIENCE: Patience = { awayMs: 60_000, silentMs: 45_000 };

/** What a box says last where the token of a stream has ended. */
const EXPIRED = 'auth_expired';

/** A box or a control plane that is on its way out or back. */
const AWAY = ['shutting_down', 'control_plane_unavailable'];

/** Says once that the box is lost, and once that it is back. */
function watchLoss({ target, say, note, signal }: Connection) {
  const notify = (state: TypeOf<typeof CONNECTION_LINE>['state']) =>
    note({ type: 'connection', state } satisfies TypeOf<typeof CONNECTION_LINE>);
  let wasOpen = false;
  let lostAt: number | undefined;
  let isReported = false;
  return {
    begin() {
      if (signal.aborted) return;
      lostAt ??= performance.now();
      if (isReported) return;
      isReported = true;
      say(`The connection to ${target.url} is lost. Connecting again.`);
      notify('lost');
    },
    end() {
      wasOpen = true;
      lostAt = undefined;
      if (!isReported) return;
      isReported = false;
      say(`Connected to ${target.url} again.`);
      notify('open');
    },
    /** Whether it may pass: nothing was refused, and the box was not away for too long. */
    isBearable(error: unknown, awayMs: number): boolean {
      const isRefused = error instanceof CliError && !AWAY.includes(error.code);
      return wasOpen && !isRefused && performance.now() - (lostAt ?? performance.now()) <= awayMs;
    },
  };
}

interface StreamOptions {
  last: string | undefined;
  silentMs: number;
  onOpen(): void;
}

async function* openStream(
  connection: Connection,
  request: BoxRequest,
  { last, silentMs, onOpen }: StreamOptions,
): AsyncGenerator<Frame> {
  const url = toAddress(connection.target, request);
  const headers = { accept: 'text/event-stream', ...(last === undefined ? {} : { 'last-event-id': last }) };
  const silence = new AbortController();
  const timer = setTimeout(() => silence.abort(new Error(`nothing came for ${silentMs / 1000} s`)), silentMs);
  try {
    const response = await openResponse(
      connection,
      { ...request, headers: { ...request.headers, ...headers } },
      silence.signal,
    );
    connection.trace(`${request.method} ${url} ${response.status}`);
    if (!response.ok) throw toBoxError(response, parseBody(await response.text()), url);
    if (!response.body || !response.headers.get('content-type')?.startsWith('text/event-stream'))
      throw notABox(response, url);
    onOpen();
    yield* readFrames(response.body, () => void timer.refresh());
  } finally {
    clearTimeout(timer);
  }
}

function toStreamError(error: unknown, connection: Connection): CliError {
  return error instanceof CliError ? error : toConnectionError(error, connection);
}
