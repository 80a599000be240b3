import { use } from 'react';
import { signInAddress } from '../api/session.ts';
import { Box } from '../app/box.ts';
import { Button } from './button.tsx';

/** What was refused or went wrong: the sentence, the code to look up, and a way on. */
export function Failure({ error, onRetry }: { error: unknown; onRetry?: (() => void) | undefined }) {
  const { message, code, requestId } = describe(error);
  const isSignedOut = useSignedOut(error);
  return (
    <div role="alert" className="my-4 rounded-lg border border-bad bg-bad-soft px-4 py-3">
      <p className="font-medium wrap-anywhere text-bad">{message}</p>
      <p className="mt-1 text-xs text-text">
        <code>{code}</code>
        {requestId !== undefined && (
          <>
            {' · request '}
            <code className="wrap-anywhere">{requestId}</code>
          </>
        )}
      </p>
      {isSignedOut && (
        <a
          href={signInAddress()}
          className="mt-2 inline-block rounded bg-accent px-2 py-0.5 text-xs font-medium text-on-accent no-underline"
        >
          Sign in
        </a>
      )}
      {code === OUTDATED && (
        <Button small className="mt-2" onClick={() => location.reload()}>
          Reload the page
        </Button>
      )}
      {onRetry && !isSignedOut && code !== OUTDATED && (
        <Button small className="mt-2" onClick={onRetry}>
          Try again
        </Button>
      )}
    </div>
  );
}

/** Whether it was refused since the session is over: a box may refuse a token of someone who is signed in. */
export function useSignedOut(error: unknown): boolean {
  const isOver = use(Box)?.session.isOver() ?? false;
  return isOver && describe(error).code === 'unauthorized';
}

export interface Described {
  message: string;
  code: string;
  requestId?: string;
}

/** A refusal of the box, or a request that did not arrive. */
export function describe(error: unknown): Described {
  const { message, code, requestId, name } = (error ?? {}) as Partial<Described> & { name?: string };
  if (code !== undefined)
    return { message: message ?? 'It was refused.', code, ...(requestId === undefined ? {} : { requestId }) };
  if (isModuleNotFoundError(error))
    return {
      message: 'A part of this dashboard is not there any more. A newer version may have been put in its place.',
      code: OUTDATED,
    };
  if (name === 'TypeError' && /fetch|network|load failed/i.test(message ?? ''))
    return {
      message: 'The box cannot be reached. It may have stopped, or the connection is lost.',
      code: 'unreachable',
    };
  return { message: message ?? String(error), code: 'page_error' };
}

// --- internal ---

const OUTDATED = 'page_outdated';

/** In the words of each browser. */
function isModuleNotFoundError(error: unknown): boolean {
  const { message = '' } = (error ?? {}) as { message?: string };
  return /dynamically imported module|importing a module script failed/i.test(message);
}
