import type { OperationOutput } from '@svc/runtime/client';

export type BrowserSettings = OperationOutput<'browser.get'>;

/** What a change of the browser changes elsewhere: what the box offers. */
export const BROWSER_ROOMS = ['browser', 'contract', 'discovery'];
