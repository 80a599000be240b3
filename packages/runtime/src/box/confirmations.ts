import { createConfirmations } from '../mcp/confirmations.ts';
import type { Confirmations, Purpose } from '../mcp/confirmations.ts';
import { createOwnStateKey, createSharedStateKey } from '../mcp/state-key.ts';
import { ensureInstallation } from '../stores/installation.ts';
import { createUsedOnce } from '../stores/used-once.ts';
import type { Foundation } from './foundation.ts';

export interface BoxConfirmations {
  /** Ends what was asked before this boot. Called once the database is open; without it, at the first use. */
  open(): Promise<void>;
  mcp: Confirmations;
  copilot: Confirmations;
  arguments: Confirmations;
}

/** Where no other process can hold the journal, no other process can be asked for what this one sealed. */
export function createBoxConfirmations({ options, engine }: Pick<Foundation, 'options' | 'engine'>): BoxConfirmations {
  const { db, exclusive, secretKey } = options;
  let opened: Promise<() => Promise<Buffer>> | undefined;
  const open = () => {
    opened ??= exclusive || !secretKey ? Promise.resolve(createOwnStateKey()) : createSharedStateKey(db, secretKey);
    // Asked again, where the database was away.
    opened.catch(() => (opened = undefined));
    return opened;
  };
  const create = (of: Purpose) =>
    createConfirmations({
      of,
      readKey: async () => (await open())(),
      used: createUsedOnce(db, 'confirmation'),
      installation: async () => (await ensureInstallation(db)).id,
      now: () => engine.clock.now(),
    });
  return {
    async open() {
      await open();
    },
    mcp: create('confirmation'),
    copilot: create('copilot'),
    arguments: create('arguments'),
  };
}
