import type { McpHttpHandler } from '@modelcontextprotocol/server';
import type { H3 } from 'h3';
import { z } from 'zod';
import type { Agents } from '../agents/agents.ts';
import type { Auth } from '../auth/auth.ts';
import type { Caller } from '../auth/caller.ts';
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

/** How MCP refuses what is no message, or comes from nobody. */
export const MCP_ERRORS: ErrorShape = {
  prefix: '/mcp',
  answer(error, requestId) {
    const { code, message, details } = error;
    const headers = { ...toErrorHeaders(error), ...(error.status === 401 ? { 'www-authenticate': 'Bearer' } : {}) };
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
  hasProgramTools(): boolean;
}

/** Both protocol eras at one address, without sessions: each request is served by a server of its own. */
export function mountMcp(app: H3, options: McpOptions): { close(): Promise<void> } {
  let opened: Promise<McpHttpHandler> | undefined;
  mountRoute(app, ROUTE, async (event) => {
    const caller = await options.auth.authenticate(event.req.headers);
    if (caller.kind === 'key') throw new BoxError('forbidden', 'An API key may not use MCP.');
    const parsedBody = await readJson(event.req);
    const handler = await (opened ??= openHandler(options));
    return handler.fetch(event.req, {
      parsedBody,
      authInfo: { token: '', clientId: caller.id, scopes: [], extra: { caller } },
    });
  });
  return {
    async close() {
      await (await opened)?.close();
    },
  };
}

// --- internal ---

const MAX_LISTENERS = 100;

const INSTRUCTIONS =
  'Find an operation with list_operations, read what it takes with describe_operation, then call it. Never confirm a ' +
  'write for the person: ask.';

async function openHandler(options: McpOptions): Promise<McpHttpHandler> {
  const { createMcpHandler, fromJsonSchema, McpServer } = await import('@modelcontextprotocol/server');
  const { version } = contractPayload().build;
  return createMcpHandler(
    async ({ authInfo }) => {
      const server = new McpServer({ name: options.slug, version }, { instructions: INSTRUCTIONS });
      const caller = authInfo?.extra?.caller as Caller;
      registerTools(server, options, caller);
      if (options.hasProgramTools()) await registerProgramTools(server, { ...options, fromJsonSchema }, caller);
      return server;
    },
    {
      maxSubscriptions: MAX_LISTENERS,
      onerror: (error) => options.log.debug('MCP refused a message.', { error }),
    },
  );
}

const RPC_CODES: Partial<Record<string, number>> = { invalid_json: -32_700, internal: -32_603 };
const INVALID_REQUEST = -32_600;

function toRpcCode({ code }: BoxError): number {
  return RPC_CODES[code] ?? INVALID_REQUEST;
}
