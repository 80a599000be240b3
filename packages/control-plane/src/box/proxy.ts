import * as http from 'node:http';
import * as https from 'node:https';
import type { ClientRequest, IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { Log } from '../../../runtime/src/log.ts';
import { PlaneError } from '../errors.ts';
import { beginAnswer, passAnswer } from '../http/pass-on.ts';
import { writeTogether } from '../http/write-together.ts';
import { toBoxHeaders, toOwnHeaders } from './headers.ts';

export interface BoxProxy {
  /**
   * Asks the box what the browser asks, and hands its answer on as it comes; resolves once it is all sent, or the browser is
   * gone. Throws `runtime_unreachable` where no answer begins.
   */
  pass(request: IncomingMessage, response: ServerResponse, passing: Passing): Promise<void>;
  close(): void;
}

export interface Passing {
  /** Path and query at the box. */
  target: string;
  /** Sets what the control plane says in every answer, once the box's own headers are in it. */
  guard(response: ServerResponse): void;
}

export interface BoxProxyOptions {
  runtimeUrl: string;
  token: string;
  log: Log;
}

export function createBoxProxy({ runtimeUrl, token, log }: BoxProxyOptions): BoxProxy {
  const { protocol, hostname, port, host, origin } = new URL(runtimeUrl);
  const { Agent, request: send } = protocol === 'https:' ? https : http;
  const agent = new Agent({ keepAlive: true, maxFreeSockets: MOST_IDLE });
  const ask = (method: string, path: string, headers: OutgoingHttpHeaders): ClientRequest =>
    send({ agent, hostname: hostname.replace(/^\[|\]$/g, ''), port, method, path, headers });

  return {
    async pass(request, response, { target, guard }) {
      const { method = 'GET' } = request;
      const headers = toBoxHeaders(request.headers, { host, token });
      const answer = await beginAnswer(request, response, () => ask(method, target, headers)).catch(
        (error: unknown) => {
          // What is still to come of the body is read and dropped, so that the refusal is.
          request.resume();
          log.warn('The box does not answer.', { error });
          throw unreachable(error);
        },
      );
      if (!answer) return;
      const { statusCode = 0 } = answer;
      // Node takes a status that HTTP does not have, and sends none.
      if (statusCode < 200 || statusCode > 599) {
        answer.destroy();
        request.resume();
        log.warn('The box answers with a status that HTTP does not have.', { status: statusCode });
        throw unreachable(new Error(`The status is ${statusCode}.`));
      }
      for (const [name, value] of toOwnHeaders(answer, origin)) response.appendHeader(name, value);
      guard(response);
      writeTogether(response);
      response.writeHead(statusCode, answer.statusMessage);
      // A stream begins before there is anything in it; an answer of a known length goes with its head.
      if (!response.hasHeader('content-length')) response.flushHeaders();
      await passAnswer(answer, response);
    },
    close: () => agent.destroy(),
  };
}

// --- internal ---

const MOST_IDLE = 64;

function unreachable(cause: unknown): PlaneError {
  return new PlaneError(
    'runtime_unreachable',
    'The box does not answer. Look whether it runs: docker compose ps agent, docker compose logs agent.',
    { cause, headers: { connection: 'close' } },
  );
}
