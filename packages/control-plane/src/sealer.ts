import { toMasterKey } from '../../runtime/src/secrets/master-key.ts';
import { seal, unseal } from '../../runtime/src/secrets/seal.ts';
import type { Sealed } from '../../runtime/src/secrets/seal.ts';
import { PlaneError } from './errors.ts';
import type { Queries } from './store/db.ts';
import { sql } from './store/sql.ts';

/** Keeps what only the control plane may read out of its database. */
export interface Sealer {
  /** `table` and `name`: where it is kept, and the one place where it opens. */
  seal(table: string, name: string, value: string): string;
  open(table: string, name: string, sealed: string): string;
}

/** Throws `secret_key_wrong` when the database was written under another PLANE_SECRET_KEY: nothing sealed in it would open. */
export async function openSealer(db: Queries, secretKey: string): Promise<Sealer> {
  const master = toMasterKey(Buffer.from(secretKey, 'base64'));
  const sealer: Sealer = {
    seal: (table, name, value) => JSON.stringify(seal(master, toPlace(table, name), value)),
    open: (table, name, sealed) => unseal(master, toPlace(table, name), JSON.parse(sealed) as Sealed),
  };
  await db.run(
    sql`insert into plane_settings (name, value) values (${CANARY}, ${sealer.seal(SETTINGS, CANARY, CANARY)}) on conflict (name) do nothing`,
  );
  const row = await db.get<{ value: string }>(sql`select value from plane_settings where name = ${CANARY}`);
  try {
    sealer.open(SETTINGS, CANARY, row?.value ?? '');
  } catch (cause) {
    throw new PlaneError(
      'secret_key_wrong',
      'PLANE_SECRET_KEY does not open what this database holds. Start with the key it was written under.',
      { cause },
    );
  }
  return sealer;
}

// --- internal ---

const SETTINGS = 'plane_settings';
const CANARY = 'canary';

function toPlace(table: string, name: string) {
  return { table, installation: 'control-plane', name, version: 1 };
}
