import type { CallToolResult, McpServer, ServerContext } from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { Caller } from '../auth/caller.ts';
import { BoxError } from '../errors.ts';
import { toBoxError } from '../http/answer.ts';
import type { Log } from '../log.ts';
import { callOperation, checkCall, parseInput } from '../surface/call.ts';
import type { Operation } from '../operations/define.ts';
import type { Rooms } from '../surface/rooms.ts';
import type { OperationCatalog } from '../surface/catalog.ts';
import { readAnswer, toQuestion } from './confirm.ts';
import { withHidden } from './confirmations.ts';
import type { Confirmations } from './confirmations.ts';
import { toErrorResult, toResult } from './result.ts';
import type { ToolAnswer } from './result.ts';
import { requireShown } from './shown.ts';

export interface ToolsOptions {
  catalog: OperationCatalog;
  confirmations: Confirmations;
  rooms: Rooms;
  log: Log;
}

/** The four tools, for one caller. */
export function registerTools(server: McpServer, options: ToolsOptions, caller: Caller): void {
  const { catalog, log } = options;
  const add = <S extends z.ZodType>(
    name: string,
    { input, ...config }: { description: string; input: S; annotations: object },
    run: (input: z.output<S>, context: ServerContext) => Promise<ToolAnswer>,
  ): void => {
    server.registerTool(name, { ...config, inputSchema: input as z.ZodType }, async (args, context) => {
      try {
        return await run(args as z.output<S>, context);
      } catch (thrown) {
        return toFailure(thrown, log);
      }
    });
  };
  add('list_operations', { description: LIST, input: ListInput, annotations: READ }, async (filter) =>
    toResult({ operations: catalog.list(filter) }),
  );
  add('describe_operation', { description: DESCRIBE, input: DescribeInput, annotations: READ }, async ({ operation }) =>
    toResult(catalog.describe(operation)),
  );
  add('call_read_operation', { description: CALL_READ, input: CallInput, annotations: READ }, async (call, context) =>
    runOperation(catalog.get(call.operation, 'read'), call.input, { options, caller, context }),
  );
  add(
    'call_write_operation',
    { description: CALL_WRITE, input: WriteInput, annotations: WRITE },
    async (call, context) => {
      const op = catalog.get(call.operation, 'write');
      const calling = { options, caller, context };
      return op.confirm ? runMarked(op, call, calling) : runOperation(op, call.input, calling);
    },
  );
}

/** What was thrown, as a result; a bug is logged and answered as `internal`. */
export function toFailure(thrown: unknown, log: Log): CallToolResult {
  const error = toBoxError(thrown);
  if (error.code === 'internal') log.error('A call over MCP failed.', { error: error.cause });
  return toErrorResult(error);
}

// --- internal ---

const READ = { readOnlyHint: true, openWorldHint: false };
const WRITE = { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false };

const LIST =
  'Find the operations of this box by what you want, the best first. Without a query: all of the tag and the kind.';
const DESCRIBE = 'Describe one operation: what it takes, what it answers and who may call it.';
const CALL_READ = 'Call an operation that only reads. Look at describe_operation first for its input.';
const CALL_WRITE =
  'Call an operation that changes something. One that cannot be undone answers confirmation_required: ask the person, ' +
  'and only after a yes repeat the same call with the requestState of that answer.';

const operation = z.string().describe('As in `runs.list`');
const input = z.record(z.string(), z.unknown()).default({}).describe('Path, query and body members in one object');
const ListInput = z.object({
  query: z.string().optional().describe('What is wanted, as in `retry failed runs`; 20 at most are found'),
  tag: z.string().optional().describe('As in `runs`'),
  kind: z.enum(['read', 'write']).optional(),
});
const DescribeInput = z.object({ operation });
const CallInput = z.object({ operation, input });
const WriteInput = z.object({
  operation,
  input,
  requestState: z.string().optional().describe('From the answer that asked for a confirmation'),
});

interface Calling {
  options: ToolsOptions;
  caller: Caller;
  context: ServerContext;
}

async function runOperation(op: Operation, values: unknown, calling: Calling): Promise<CallToolResult> {
  const { options, caller, context } = calling;
  return toResult(
    await callOperation(op, options.rooms, values, { caller, signal: context.mcpReq.signal, source: 'mcp' }),
  );
}

/** A person is asked first, in the way the client has for it. */
async function runMarked(op: Operation, call: z.output<typeof WriteInput>, calling: Calling): Promise<ToolAnswer> {
  const { options, caller, context } = calling;
  // No confirmation is asked for a call that cannot run.
  await checkCall(op, options.rooms, { caller, source: 'mcp' });
  await parseInput(op, call.input);
  const marked = { caller, operation: op.id, input: call.input, secret: op.secret ?? [] };
  const answer = readAnswer(context, call.requestState);
  if (answer.decision === 'no')
    throw new BoxError('confirmation_declined', `"${op.id}" did not run: the person said no.`);
  const redeemed = answer.decision === 'yes' ? await options.confirmations.redeem(answer.state, marked) : undefined;
  if (redeemed && 'input' in redeemed) return runOperation(op, redeemed.input, calling);
  const doubt = redeemed?.doubt ?? 'unasked';
  const whole = withHidden(marked, redeemed?.hidden);
  requireShown(whole);
  const { state } = await options.confirmations.ask(whole);
  return toQuestion({ op, call: whole.input, doubt, state }, context);
}
