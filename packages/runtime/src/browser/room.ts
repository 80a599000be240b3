import type { Log } from '../log.ts';
import type { Mask } from '../mask.ts';
import { defineRoom } from '../operations/room.ts';
import type { EgressPolicy } from '../provider/egress.ts';
import { createBrowser } from './browser.ts';
import type { BrowserOptions } from './browser.ts';
import { deleteBrowser, getBrowser, setBrowser } from './operations.ts';
import type { BrowserEndpoint } from './settings.ts';
import { createBrowserStore } from './store.ts';
import type { BrowserStoreOptions } from './store.ts';

export interface Given
  extends Pick<BrowserOptions, 'kv' | 'isOpen' | 'isBlank'>, Pick<BrowserStoreOptions, 'db' | 'installation'> {
  masterKey: BrowserStoreOptions['key'];
  log: Log;
  options: { provider: { egress: EgressPolicy }; browser?: BrowserEndpoint | undefined };
  foundation: { mask: Mask };
}

export const browserRoom = defineRoom({
  name: 'browser',
  operations: [getBrowser, setBrowser, deleteBrowser],
  create: ({ db, masterKey: key, installation, kv, isOpen, isBlank, log, options, foundation: { mask } }: Given) =>
    createBrowser({
      environment: options.browser,
      store: createBrowserStore({ db, key, installation }),
      egress: options.provider.egress,
      kv,
      isOpen,
      isBlank,
      mask,
      log,
    }),
  close: (browser) => browser.close(),
});
