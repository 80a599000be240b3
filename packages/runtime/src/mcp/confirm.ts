import type { ServerContext } from '@modelcontextprotocol/server';
import type { Operation } from '../operations/define.ts';
import { BoxError } from '../errors.ts';
import { withoutSecrets } from './confirmations.ts';
import type { Doubt, Input } from './confirmations.ts';
import { toErrorResult } from './result.ts';
import type { ToolAnswer } from './result.ts';

export type Answer = { decision: 'none' | 'no' } | { decision: 'yes'; state: string };

/**
 * What a person has said to the question so far. A client that can ask a person itself says so in its answer, and then
 * the argument, which the model writes, counts for nothing.
 */
export function readAnswer(context: ServerContext, argument: string | undefined): Answer {
  if (!canAsk(context)) return argument === undefined ? { decision: 'none' } : { decision: 'yes', state: argument };
  const { inputResponses = {}, requestState } = context.mcpReq;
  const response = inputResponses[QUESTION] as { action?: unknown; content?: { confirm?: unknown } } | undefined;
  const state = requestState<string>();
  if (response === undefined || typeof state !== 'string') return { decision: 'none' };
  return response.action === 'accept' && response.content?.confirm === true
    ? { decision: 'yes', state }
    : { decision: 'no' };
}

export interface Question {
  op: Operation;
  call: Input;
  doubt: Doubt | 'unasked';
  /** Comes back with the yes. */
  state: string;
}

/** Asks: through the client where it can, else with a result that asks the model to. */
export function toQuestion({ op, call, doubt, state }: Question, context: ServerContext): ToolAnswer {
  const shown = withoutSecrets({ input: call, secret: op.secret ?? [] });
  const message = `${REASONS[doubt]}${op.summary}: "${op.id}" with ${JSON.stringify(shown)}.`;
  if (canAsk(context))
    return {
      resultType: 'input_required',
      requestState: state,
      inputRequests: {
        [QUESTION]: {
          method: 'elicitation/create',
          params: {
            mode: 'form',
            message: `${message} Run it?`,
            requestedSchema: {
              type: 'object',
              properties: { confirm: { type: 'boolean', title: 'Run it', default: false } },
              required: ['confirm'],
            },
          },
        },
      },
    };
  const ask = 'Ask the person; after a yes repeat this call with the requestState.';
  const details = { call: { operation: op.id, input: shown }, ...(doubt === 'unasked' ? {} : { reason: doubt }) };
  const { content, structuredContent } = toErrorResult(
    new BoxError('confirmation_required', `${message} ${ask}`, { details }),
  );
  const body = { ...(structuredContent as object), requestState: state };
  return { content: [{ ...content[0], type: 'text', text: JSON.stringify(body) }], structuredContent: body };
}

// --- internal ---

const QUESTION = 'confirm';
const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';

const REASONS: Record<Question['doubt'], string> = {
  unasked: '',
  unknown: 'The requestState is not one of this box, or was made before it started. ',
  expired: 'The confirmation has expired. ',
  used: 'This confirmation has been used. ',
  other_call: 'The confirmation was for another call. ',
};

/** True for a client of the revision that has questions in results, and that can ask a person. */
function canAsk({ mcpReq: { envelope } }: ServerContext): boolean {
  const capabilities = (envelope as Record<string, unknown> | undefined)?.[CAPABILITIES];
  return (capabilities as { elicitation?: object } | undefined)?.elicitation !== undefined;
}
