import { createHmac, randomBytes } from 'node:crypto';
import type { MasterKey } from '../secrets/seal.ts';

/** Signs what an agent thought, so that the box knows its own thinking. */
export type SignThinking = (thinking: string) => string;

/** Without a master key, with one made for this process. */
export function createThinkingSigner(master: MasterKey | undefined): SignThinking {
  const key = master ? createHmac('sha256', master.key).update('thinking').digest() : randomBytes(32);
  return (thinking) => `${VERSION}${createHmac('sha256', key).update(thinking).digest('base64url')}`;
}

// --- internal ---

const VERSION = 'svc1.';
