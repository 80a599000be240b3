import { parseDuration } from '../../engine/duration.ts';
import { isWithdrawn, SHUTTING_DOWN } from '../events/turn-errors.ts';
import { NO_USAGE } from '../events/turn-events.ts';
import { addUsage, toTokens } from '../events/usage.ts';
import type { ReplyOptions } from '../model/reply.ts';
import type { ModelReply } from '../model/read-reply.ts';
import type { ModelRequest } from '../model/request.ts';
import type { TurnOptions } from './options.ts';
import type { Invoke } from './tool-turn.ts';

export interface ModelCallStep {
  stepId: string;
  name: string;
  /** What the journal keeps of the request. */
  recorded: unknown;
  request: ModelRequest;
  reply: ReplyOptions;
  /** Readers of the turn are notified when the process shuts down during the call, or after it. */
  notifiesShutdown: boolean;
}

/** The recorded model calls of a turn, and what they have used together. */
export class ModelCalls {
  readonly #options: Pick<TurnOptions, 'callModel' | 'emit'>;
  readonly #invoke: Invoke;
  /** How many were made, the ones that failed too. */
  count = 0;
  usage = NO_USAGE;

  constructor(options: Pick<TurnOptions, 'callModel' | 'emit'>, invoke: Invoke) {
    this.#options = options;
    this.#invoke = invoke;
  }

  async call({ stepId, name, recorded, request, reply, notifiesShutdown }: ModelCallStep): Promise<ModelReply> {
    this.count += 1;
    const answer = (await this.#invoke('model', stepId, recorded, {
      name,
      run: ({ signal }) => {
        if (notifiesShutdown) this.#notifyShutdown(signal);
        return this.#options.callModel(request, reply, signal);
      },
      tokensOf: (answered) => toTokens((answered as ModelReply).usage),
    })) as ModelReply;
    this.usage = addUsage(this.usage, answer.usage);
    return answer;
  }

  /** The signal is the run's own, and a body that is suspended is never answered: its reader is notified from here. */
  #notifyShutdown(signal: AbortSignal): void {
    const onAbort = () => isWithdrawn(signal.reason) || this.#options.emit(SHUTTING_DOWN);
    signal.addEventListener('abort', onAbort, { once: true });
  }
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
