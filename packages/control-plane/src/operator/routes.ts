import { z } from 'zod';
import type { Log } from '../../../runtime/src/log.ts';
import { route } from '../http/route.ts';
import type { Route } from '../http/route.ts';
import type { OperatorSessions } from './sessions.ts';
import type { TokenCheck } from './token.ts';

export interface OperatorRoutes {
  log: Log;
  token: string;
  /** Where the box is reached from outside. Undefined: nothing says. */
  boxUrl: string | undefined;
  sessions: OperatorSessions;
  check: TokenCheck;
}

export function operatorRoutes({ log, token, boxUrl, sessions, check }: OperatorRoutes): Route[] {
  const common = { tag: 'operator', mode: 'standalone', origin: 'always' } as const;
  return [
    route({
      ...common,
      id: 'operator.login',
      method: 'POST',
      path: '/api/v1/self-host/login',
      summary: 'Sign in with the token of the operator',
      access: 'anyone',
      body: Token,
      answer: SessionAnswer,
      errors: ['wrong_credentials', 'rate_limited'],
      async handle(call, { body }) {
        check.require(call, body.token);
        sessions.open(call);
        log.info('The operator has signed in.', { address: call.address });
        return OPERATOR;
      },
    }),
    route({
      ...common,
      id: 'operator.logout',
      method: 'POST',
      path: '/api/v1/self-host/logout',
      summary: 'End the session of the cookie',
      access: 'anyone',
      status: 204,
      handle: async (call) => sessions.end(call),
    }),
    route({
      ...common,
      id: 'operator.session',
      method: 'GET',
      path: '/api/v1/self-host/session',
      summary: 'Say who is signed in',
      access: 'operator',
      answer: SessionAnswer,
      handle: async () => OPERATOR,
    }),
    route({
      ...common,
      id: 'operator.reveal',
      method: 'POST',
      path: '/api/v1/self-host/credentials/reveal',
      summary: 'Show the addresses and the token that a coding agent needs, to a caller who presents the token again',
      access: 'operator',
      body: Token,
      answer: z.object({ publicUrl: z.string().nullable(), mcpUrl: z.string().nullable(), token: z.string() }),
      errors: ['wrong_credentials', 'rate_limited'],
      async handle(call, { body }) {
        check.require(call, body.token);
        // At a level that is written unless the log is off: it is the one trace of who has the token.
        log.warn('The token of the operator was revealed.', { address: call.address });
        return { publicUrl: boxUrl ?? null, mcpUrl: boxUrl === undefined ? null : `${boxUrl}/mcp`, token };
      },
    }),
  ];
}

// --- internal ---

const OPERATOR = { role: 'owner', name: 'operator' } as const;

const Token = z.strictObject({ token: z.string().min(1).max(4_096) });
const SessionAnswer = z.object({ role: z.literal('owner'), name: z.literal('operator') });
