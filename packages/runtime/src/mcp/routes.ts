import type { McpHttpHandler } from '@modelcontextprotocol/server';
import type { H3 } from 'h3';
import { z } from 'zod';
import type { Agents } from '../agents/agents.ts';
import type { Auth } from '../auth/auth.ts';
import { requirePermission } from '../auth/caller.ts';
import type { Caller } from '../auth/caller.ts';
import { readCredential } from '../auth/credential.ts';
import { BoxError } from '../errors.ts';
import { contractPayload } from '../health/contract.ts';
import { answerJson, toErrorHeaders } from '../http/answer.ts';
import { mountRoute } from '../http/app.ts';
import type { ErrorShape, RouteEntry } from '../http/app.ts';
import { readJson } from '../http/body.ts';
import { registerProgramTools } from './program-tools.ts';
import { registerTools } from './tools.ts';
import type { ToolsOptions } from './tools.ts';

const ROUTE: RouteEntry = {
  method: 'POST',
  path: '/mcp',
  summary: 'Serve MCP: tools that list, describe and call the operations of this box',
  doc: {
    id: 'mcp.post',
    tag: 'mcp',
    security: 'caller',
    family: 'json-rpc',
    headers: { 'mcp-protocol-version': 'The revision the client speaks' },
    body: z.looseObject({ jsonrpc: z.literal('2.0'), method: z.string() }),
    answers: {
      200: {
        description: 'The result of a request',
        content: { 'application/json': z.looseObject({ jsonrpc: z.literal('2.0') }), 'text/event-stream': undefined },
      },
      202: { description: 'A notification was taken' },
    },
  },
};

export const MCP_ROUTES: RouteEntry[] = [ROUTE];

/** How MCP refuses what is no message, or comes without a credential. */
export const MCP_ERRORS: ErrorShape = {
  prefix: '/mcp',
  answer(error, requestId, request) {
    const { code, message, details } = error;
    const headers = toErrorHeaders(error);
    if (error.status === 401) headers['www-authenticate'] = toChallenge(error, request.headers);
    const data = { code, requestId, ...(details === undefined ? {} : { details }) };
    return answerJson(
      error.status,
      { jsonrpc: '2.0', id: null, error: { code: toRpcCode(error), message, data } },
      headers,
    );
  },
};

export interface McpOptions extends ToolsOptions {
  slug: string;
  auth: Pick<Auth, 'authenticate'>;
  agents: Pick<Agents, 'names' | 'startTurn'>;
  /** Whether agents and workflows are tools too. */
  hasProgramTools(): Promise<boolean>;
  /** Whether the workspace offers this endpoint. */
  isEnabled(): Promise<boolean>;
}

/** Both protocol eras at one address, without sessions: each request is served by a server of its own. */
export function mountMcp(app: H3, options: McpOptions): { close(): Promise<void> } {
  let opened: Promise<McpHttpHandler> | undefined;
  mountRoute(app, ROUTE, async (event) => {
    const caller: Caller = { ...(await options.auth.authenticate(event.req.headers, 'mcp')), via: 'mcp' };
    requirePermission(caller, 'mcp:use');
    if (!(await options.isEnabled())) throw new BoxError('mcp_disabled', DISABLED);
    const parsedBody = await readJson(event.req);
    const handler = await (opened ??= openHandler(options));
    const answer = await handler.fetch(event.req, {
      parsedBody,
      authInfo: { token: '', clientId: caller.id, scopes: [], extra: { caller } },
    });
    answer.headers.set('cache-control', 'no-store, no-transform');
    return answer;
  });
  return {
    async close() {
      await (await opened)?.close();
    },
  };
}

// --- internal ---

const DISABLED = 'MCP is switched off in this workspace. An owner or admin switches it on with PUT /api/settings/mcp.';

const INSTRUCTIONS =
  'Find an operation with list_operations, read what it takes with describe_operation, then call it. Never confirm a ' +
  'write for the person: ask.';

async function openHandler(options: McpOptions): Promise<McpHttpHandler> {
  const { createMcpHandler, fromJsonSchema, McpServer } = await import('@modelcontextprotocol/server');
  const { version } = contractPayload().build;
  return createMcpHandler(
    async ({ authInfo }) => {
      const server = new McpServer(
        { name: options.slug, version },
        // Nothing is announced, so a stream that listens for it ends at once: none outlives the credential it came with.
        { instructions: INSTRUCTIONS, capabilities: { tools: { listChanged: false } } },
      );
      const caller = authInfo?.extra?.caller as Caller;
      registerTools(server, options, caller);
      if (await options.hasProgramTools()) await registerProgramTools(server, { ...options, fromJsonSchema }, caller);
      return server;
    },
    { onerror: (error) => options.log.debug('MCP refused a message.', { error }) },
  );
}

/** RFC 6750. Names no place to sign in at: what lets a person in is handed out by the control plane, not by OAuth. */
function toChallenge({ message }: BoxError, headers: Headers): string {
  if (readCredential(headers) === undefined) return 'Bearer realm="mcp"';
  const description = message.replaceAll('"', "'").replace(/[^ -~]|\\/g, '?');
  return `Bearer realm="mcp", error="invalid_token", error_description="${description}"`;
}

const RPC_CODES: Partial<Record<string, number>> = { invalid_json: -32_700, internal: -32_603 };
const INVALID_REQUEST = -32_600;

function toRpcCode({ code }: BoxError): number {
  return RPC_CODES[code] ?? INVALID_REQUEST;
}
