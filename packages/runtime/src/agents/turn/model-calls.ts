import { parseDuration } from '../../engine/duration.ts';
import { isWithdrawn, SHUTTING_DOWN } from '../events/turn-errors.ts';
import { NO_USAGE } from '../events/turn-events.ts';
import { addUsage, toTokens } from '../events/usage.ts';
import type { CallModel } from '../model/client.ts';
import type { ReplyOptions } from '../model/reply.ts';
import type { ModelReply, RecordedRequest } from '../model/read-reply.ts';
import type { ModelRequest } from '../model/request.ts';
import { withGuard } from './guard.ts';
import { withHiddenCalls } from './hidden-calls.ts';
import type { TurnOptions } from './options.ts';
import type { Invoke } from './tool-turn.ts';
import type { Spent } from '../../engine/journal/run.ts';
import { addCosts } from '../../engine/run/outcome.ts';

export interface ModelCallStep {
  stepId: string;
  name: string;
  /** What the journal keeps of the request. */
  recorded: unknown;
  request: ModelRequest;
  /** Keeps what it was asked with, unless the call before was asked with the same. */
  keepsRequest?: boolean;
  reply: ReplyOptions;
  /** Readers of the turn are notified when the process shuts down during the call, or after it. */
  notifiesShutdown: boolean;
  /** Called before the model is asked, and not where its answer is recorded. */
  begins?: () => void;
}

/** The recorded model calls of a turn, and what they have used together. */
export class ModelCalls {
  readonly #options: Pick<TurnOptions, 'callModel' | 'emit'>;
  readonly #callModel: CallModel;
  readonly #invoke: Invoke;
  /** How many were made, the ones that failed too. */
  count = 0;
  usage = NO_USAGE;
  /** Of those whose models have a price. Undefined: none has. */
  cost: number | undefined;
  /** Of the last call that kept it, as JSON. */
  #request = '';

  constructor(options: Pick<TurnOptions, 'callModel' | 'emit' | 'guard' | 'hide'>, invoke: Invoke) {
    this.#options = options;
    this.#callModel = withHiddenCalls(withGuard(options.callModel, options.guard), options.hide);
    this.#invoke = invoke;
  }

  async call(step: ModelCallStep): Promise<ModelReply> {
    const { stepId, name, recorded, request, keepsRequest = false, reply, notifiesShutdown, begins } = step;
    const kept = keepsRequest ? toRecordedRequest(request) : undefined;
    const isNew = kept !== undefined && JSON.stringify(kept) !== this.#request;
    this.count += 1;
    const answer = (await this.#invoke('model', stepId, recorded, {
      name,
      run: async ({ signal }): Promise<ModelReply> => {
        begins?.();
        if (notifiesShutdown) this.#notifyShutdown(signal);
        const answered = await this.#callModel(request, reply, signal);
        return isNew ? { ...answered, request: kept } : answered;
      },
      tokensOf: (answered) => toSpent(answered as ModelReply),
    })) as ModelReply;
    this.usage = addUsage(this.usage, answer.usage);
    this.cost = addCosts(this.cost, answer.cost);
    if (answer.request) this.#request = JSON.stringify(answer.request);
    return answer;
  }

  /** The signal is the run's own, and a body that is suspended is never answered: its reader is notified from here. */
  #notifyShutdown(signal: AbortSignal): void {
    const onAbort = () => isWithdrawn(signal.reason) || this.#options.emit(SHUTTING_DOWN);
    signal.addEventListener('abort', onAbort, { once: true });
  }
}

/** What a reply has used, and cost. */
export function toSpent({ usage, cost }: Pick<ModelReply, 'usage' | 'cost'>): Spent {
  return { ...toTokens(usage), ...(cost === undefined ? {} : { cost }) };
}

/** How long one call of the model may take, and what is done when it fails, as the agent says. */
export function callLimits(
  agent: TurnOptions['agent'],
): Pick<ModelRequest, 'timeout' | 'maxRetries' | 'fallbackModels'> {
  const { timeout, maxRetries, fallbackModels } = agent;
  return {
    ...(timeout === undefined ? {} : { timeout: parseDuration(timeout) }),
    ...(maxRetries === undefined ? {} : { maxRetries }),
    ...(fallbackModels === undefined ? {} : { fallbackModels }),
  };
}

// --- internal ---

const MOST_SYSTEM = 65_536;

function toRecordedRequest({ messages: [first], tools }: ModelRequest): RecordedRequest {
  const system = first?.role === 'system' ? String(first.content).slice(0, MOST_SYSTEM) : null;
  return { system, tools: tools.map(({ name }) => name) };
}
