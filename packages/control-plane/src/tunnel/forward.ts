import * as http from 'node:http';
import * as https from 'node:https';
import { isIP } from 'node:net';
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { Log } from '../../../runtime/src/log.ts';
import { PlaneError } from '../errors.ts';
import { HOP_HEADERS, listNamed } from '../http/hop.ts';
import { beginAnswer, passAnswer } from '../http/pass-on.ts';
import { writeTogether } from '../http/write-together.ts';
import { toAnswerHeaders } from './headers.ts';
import { refuse } from './pass.ts';
import { PASSED_HEADER } from './passed.ts';

/** Passes requests on to the control planes that hold the tunnels they are for. */
export interface Forwarder {
  /** `passed`: the value of the header that says who asks. */
  pass(url: string, [request, response]: [IncomingMessage, ServerResponse], passed: string): Promise<void>;
  close(): void;
}

export function createForwarder(log: Log): Forwarder {
  const agents = {
    'http:': new http.Agent({ keepAlive: true, maxFreeSockets: MOST_IDLE }),
    'https:': new https.Agent({ keepAlive: true, maxFreeSockets: MOST_IDLE }),
  };
  return {
    async pass(url, [request, response], passed) {
      const { protocol, hostname: inUrl, port } = new URL(url);
      const hostname = inUrl.replace(/^\[|\]$/g, '');
      // Its certificate is for where it is reached, not for the name of the tunnel.
      const servername = isIP(hostname) === 0 ? hostname : '';
      const send = protocol === 'https:' ? https.request : http.request;
      const headers = toHeaders(request, passed);
      const { method = 'GET', url: path = '/' } = request;
      const agent = agents[protocol as 'http:'];
      const ask = () => send({ agent, hostname, servername, port, method, path, headers });
      const answer = await beginAnswer(request, response, ask).catch((error: unknown) => {
        log.warn('The control plane that holds a tunnel does not answer.', { url, error });
        refuse([request, response], gone());
      });
      if (!answer) return;
      const { statusCode = 0 } = answer;
      // What is at the address by now may be any program.
      if (statusCode < 200 || statusCode > 599) {
        answer.destroy();
        return refuse([request, response], gone());
      }
      writeTogether(response);
      response.writeHead(statusCode, toAnswerHeaders(answer.headers));
      response.flushHeaders();
      await passAnswer(answer, response);
    },
    close() {
      for (const agent of Object.values(agents)) agent.destroy();
    },
  };
}

/** Another control plane has the tunnel, and its own address is not configured. */
export function elsewhere(): PlaneError {
  return new PlaneError(
    'tunnel_elsewhere',
    'Another control plane has this tunnel, and this one does not know its address. Their administrator has to set PLANE_INTERNAL_URL of each, or to let the proxy in front send all of PLANE_TUNNEL_DOMAIN to one.',
  );
}

// --- internal ---

const MOST_IDLE = 64;

/** Whichever of them `Connection` names: they frame the body, and say which tunnel it is for. */
const KEPT = new Set(['content-length', 'host']);
/** What others say of who asks: that is in the header of ours. */
const SAID_OF_ASKER = /^(?:forwarded|via|x-real-ip|x-forwarded-.*)$/;

function toHeaders({ headers: given }: IncomingMessage, passed: string): OutgoingHttpHeaders {
  const named = listNamed(given.connection);
  const headers: OutgoingHttpHeaders = {};
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || HOP_HEADERS.has(name) || SAID_OF_ASKER.test(name)) continue;
    if (!named.has(name) || KEPT.has(name)) headers[name] = value;
  }
  // A body that is sent without one would be the beginning of the next request on the connection.
  if (given['transfer-encoding'] !== undefined) headers['transfer-encoding'] = 'chunked';
  return { ...headers, [PASSED_HEADER]: passed };
}

function gone(): PlaneError {
  return new PlaneError(
    'tunnel_elsewhere',
    'The control plane that has this tunnel does not answer. Its box comes to another one by itself.',
  );
}
