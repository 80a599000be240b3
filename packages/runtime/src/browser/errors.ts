import { BoxError } from '../errors.ts';

export function browserNotConfigured(): BoxError {
  return new BoxError(
    'browser_not_configured',
    'This box has no browser. Set SVC_BROWSER_URL, or send PUT /api/browser with the address of one.',
  );
}

/** `why`: a sentence of our own, never what the other side has said: that may be anyone's text. */
export function browserUnreachable(why: string, cause?: unknown): BoxError {
  return new BoxError('browser_unreachable', `The browser cannot be reached. ${why}`, { cause });
}

export function browserBusy(sessions: number): BoxError {
  return new BoxError(
    'browser_busy',
    `All ${sessions} browser sessions of this box are in use. Try again later, or raise "sessions" with PUT /api/browser.`,
  );
}

export function sessionEnded(why: string): BoxError {
  return new BoxError('browser_session_ended', `The browser session has ended: ${why}.`);
}
