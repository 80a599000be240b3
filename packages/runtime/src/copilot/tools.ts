import { z } from 'zod';
import { CONFIRM_TOOL } from '../agents/copilot.ts';
import type { Tool, ToolContext } from '../definitions/agent.ts';
import { defineTool } from '../definitions/definition.ts';
import { BoxError } from '../errors.ts';
import type { Log } from '../log.ts';
import type { Rooms } from '../surface/rooms.ts';
import { toAnswer } from './answers.ts';
import { createCalls } from './calls.ts';
import { CALL_READ, CALL_WRITE } from './hidden-arguments.ts';
import type { CallsOptions } from './calls.ts';

/** Runs in the dashboard, which brings it with each message. */
export const NAVIGATE = 'navigate';

export interface CopilotToolsOptions extends CallsOptions {
  rooms(): Rooms;
  log: Log;
}

export interface CopilotTools {
  /** Find and call operations. A marked write asks for a confirmation. */
  own: Record<string, Tool>;
  /** The same for an agent that has no way to ask a person: a marked write is refused. */
  shared: Record<string, Tool>;
}

export function createCopilotTools(options: CopilotToolsOptions): CopilotTools {
  const { rooms, log } = options;
  const calls = createCalls(options);
  const operations = () => rooms().operations;
  const tool = <S extends z.ZodType>(
    description: string,
    inputSchema: S,
    run: (input: z.output<S>, context: ToolContext) => unknown,
  ): Tool =>
    defineTool({
      description,
      inputSchema: inputSchema as z.ZodType,
      execute: (given: unknown, context: ToolContext) =>
        toAnswer(() => run(given as z.output<S>, context), { log, signal: context.signal }),
    });
  const toWrite = (canAsk: boolean): Tool =>
    tool(CALLING_WRITE, WriteInput, ({ operation: id, ...call }, context) => {
      const op = operations().get(id, 'write');
      if (!op.confirm) return calls.write(op, call.input, context);
      if (canAsk) return calls.ask(op, call, context);
      throw new BoxError('confirmation_unavailable', `"${id}" needs a person's confirmation, which ${REPLACED}`);
    });
  const reading = {
    list_operations: tool(LIST, ListInput, (filter) => ({ operations: operations().list(filter) })),
    describe_operation: tool(DESCRIBE, DescribeInput, ({ operation: id }) => operations().describe(id)),
    [CALL_READ]: tool(CALLING_READ, CallInput, ({ operation: id, input: given }, context) =>
      calls.read(operations().get(id, 'read'), given, context),
    ),
  };
  return {
    own: {
      ...reading,
      [CALL_WRITE]: toWrite(true),
      [CONFIRM_TOOL]: tool(CONFIRMING, ConfirmInput, ({ operation: id, ...call }, context) => {
        const op = operations().get(id, 'write');
        if (op.confirm) return calls.confirm(op, call, context);
        throw new BoxError('invalid_request', `"${id}" needs no confirmation: call it with call_write_operation.`);
      }),
    },
    shared: { ...reading, [CALL_WRITE]: toWrite(false) },
  };
}

// --- internal ---

const REPLACED = 'an agent that replaces the copilot cannot ask for. Nothing ran. Do it in the dashboard.';

const LIST =
  'Find the operations of this installation by what you want, the best first. Without a query: all of the tag and the kind.';
const DESCRIBE = 'Describe one operation: what it takes, what it answers and which permission it needs.';
const CALLING_READ = 'Call an operation that only reads, as the person asking.';
const CALLING_WRITE =
  'Call an operation that changes something, as the person asking. One that cannot be undone runs nothing and answers confirmation_required.';
const CONFIRMING =
  'Put a call to the person that answered confirmation_required, with its requestState. It runs when they approve it.';

const operation = z.string().describe('As in `runs.list`');
const input = z.record(z.string(), z.unknown()).default({}).describe('Path, query and body members in one object');
const ListInput = z.object({
  query: z.string().max(200).optional().describe('What is wanted, as in `retry failed runs`; 20 at most are found'),
  tag: z.string().max(100).optional().describe('As in `runs`'),
  kind: z.enum(['read', 'write']).optional(),
});
const DescribeInput = z.object({ operation });
const CallInput = z.object({ operation, input });
const WriteInput = CallInput.extend({ sealed: z.string().optional().describe('Put there by the box: leave it out') });
const ConfirmInput = WriteInput.extend({ requestState: z.string().describe('From the answer that asked for it') });
