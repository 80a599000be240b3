import { and, eq } from 'drizzle-orm';
import { BoxError } from '../errors.ts';
import type { Drizzle } from '../stores/drizzle.ts';
import { secrets } from './table.ts';
import { seal, unseal } from './seal.ts';
import type { MasterKey, Sealed } from './seal.ts';

/**
 * Opens a known value with the key, and stores it at the first boot. A box that starts with another key than before
 * is refused (`secret_key_wrong`) rather than left with secrets it cannot read. `previous` changes the refusal alone:
 * what is under it is to be wrapped again before.
 */
export async function checkCanary(
  db: Drizzle,
  key: MasterKey,
  installation: string,
  previous?: MasterKey,
): Promise<void> {
  const place = { table: 'secrets', installation, name: `${OWNER}/${NAME}`, version: VERSION };
  const sealed = (await readCanary(db)) ?? (await createCanary(db, seal(key, place, CONTENT)));
  if (sealed.kid !== key.kid) throw wrongKey(sealed.kid, key, previous);
  if (unseal(key, place, sealed) !== CONTENT) throw wrongKey(sealed.kid, key, previous);
}

// --- internal ---

const OWNER = 'box';
const NAME = 'canary';
const VERSION = 1;
const CONTENT = 'The key fits.';

async function readCanary(db: Drizzle): Promise<Sealed | undefined> {
  const rows = await db
    .select({ sealed: secrets.sealed })
    .from(secrets)
    .where(and(eq(secrets.owner, OWNER), eq(secrets.name, NAME)));
  return rows[0]?.sealed;
}

/** Of two first boots at once, both go by the row that was first. */
async function createCanary(db: Drizzle, sealed: Sealed): Promise<Sealed> {
  await db.insert(secrets).values({ owner: OWNER, name: NAME, version: VERSION, sealed }).onConflictDoNothing();
  return (await readCanary(db)) ?? sealed;
}

function wrongKey(sealedWith: string, { kid }: MasterKey, previous?: MasterKey): BoxError {
  const given = previous
    ? `Neither SVC_SECRET_KEY (${kid}) nor SVC_SECRET_KEY_PREVIOUS (${previous.kid}) is the key this box's secrets were sealed with (${sealedWith}).`
    : `SVC_SECRET_KEY is not the key this box's secrets were sealed with (that was the key ${sealedWith}, this is ${kid}).`;
  const message = `${given} Start with the key the box had before, or name that one in SVC_SECRET_KEY_PREVIOUS; without it the stored secrets cannot be read.`;
  return new BoxError('secret_key_wrong', message, { details: { sealedWith, kid } });
}
