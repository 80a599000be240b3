import { isPassing, ProviderError } from '../agents/model/provider-error.ts';
import { isStoreDown } from '../engine/persist.ts';
import { BoxError } from '../errors.ts';
import { sqlStateOf } from './errors.ts';

export interface EmbedFailure {
  /** For whoever looks at what could not be embedded. */
  reason: string;
  /** Milliseconds until it is tried again. Undefined: it is given up. */
  pauseMs: number | undefined;
}

export interface RetryLimits {
  /** How often it is tried. */
  attempts: number;
  /** The first pause; each is twice the one before, up to five minutes. */
  pauseMs: number;
}

/** Whether an error that no one expects is tried again as well. Where there are few attempts it may be; default: it is not. */
export interface RetryChoice {
  triesUnknown?: boolean;
}

/** What happens to something that could not be embedded. `attempts`: those there were. */
export function toEmbedFailure(
  error: unknown,
  attempts: number,
  { triesUnknown = false, ...limits }: RetryLimits & RetryChoice,
): EmbedFailure {
  const isAgain = mayPass(error, triesUnknown) && attempts < limits.attempts;
  const pauseMs = isAgain ? Math.min(LONGEST_PAUSE_MS, limits.pauseMs * 2 ** (attempts - 1)) : undefined;
  return { reason: explain(error), pauseMs };
}

// --- internal ---

const LONGEST_PAUSE_MS = 300_000;
const LONGEST_REASON = 500;

/** Another time may do better: trouble of the provider, of the store, and a provider that is not set yet. */
function mayPass(error: unknown, triesUnknown: boolean): boolean {
  if (error instanceof BoxError) return error.status >= 500 && error.code !== 'model_provider_failed';
  if (sqlStateOf(error) !== undefined || isStoreDown(error)) return true;
  return (triesUnknown || error instanceof ProviderError) && isPassing(error);
}

function explain(error: unknown): string {
  if (sqlStateOf(error) !== undefined) return 'The database refused it. The log says more.';
  return (error instanceof Error ? error.message : String(error)).slice(0, LONGEST_REASON);
}
