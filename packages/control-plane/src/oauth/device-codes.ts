import { randomInt } from 'node:crypto';
import { PlaneError } from '../errors.ts';
import { findMember } from '../organizations/members.ts';
import { hashSecret, makeSalt, makeSecret } from '../secrets.ts';
import type { Db, Queries } from '../store/db.ts';
import { sql } from '../store/sql.ts';
import type { Families, Grant } from './families.ts';

/** A machine that asks to be signed in, and waits for a person to say so. */
export interface DeviceCode {
  /** As it is shown: `BCDF-GHJK`. */
  userCode: string;
  deviceName: string;
  /** Where it asked from. */
  address: string | null;
  status: DeviceStatus;
  /** Who has answered it. Null: no one yet. */
  userId: string | null;
  createdAt: number;
  expiresAt: number;
}

/** `used`: it was approved, and has been given its tokens. */
export type DeviceStatus = 'pending' | 'approved' | 'denied' | 'used';

export interface DeviceCodes {
  /** Both codes, of which only hashes are kept. */
  start(asked: { clientId: string; deviceName: string; address: string | undefined }): Promise<Started>;
  /** The tokens, once it is approved. Throws what RFC 8628 has for every other case. */
  poll(deviceCode: string, clientId: string): Promise<Grant>;
  /** Of what a person has typed. Undefined: there is no such code, or it is no longer good. */
  find(typed: string): Promise<DeviceCode | undefined>;
}

export interface Started {
  deviceCode: string;
  userCode: string;
  /** Seconds. */
  expiresIn: number;
  interval: number;
}

export interface DeviceCodesOptions {
  db: Db;
  now(): number;
  families: Families;
  /** Between two polls. */
  pollSeconds: number;
}

export function createDeviceCodes({ db, now, families, pollSeconds }: DeviceCodesOptions): DeviceCodes {
  const notPending = async (row: Row | undefined, deviceCode: string): Promise<Grant> => {
    if (!row) throw new PlaneError('invalid_grant', 'There is no such device code, or it was used. Begin again.');
    const { status, expiresAt, grantedAt } = row;
    // An answer that was lost: its tokens once more, as long as the first of them is unused.
    if (status === 'used' && now() - (grantedAt ?? 0) <= AGAIN_MS) {
      const again = await families.answerAgain(deviceCode, row.salt ?? '');
      if (again) return again;
    }
    if (status === 'used') throw new PlaneError('invalid_grant', 'The device code was used. Begin again.');
    if (expiresAt <= now()) throw new PlaneError('expired_token', 'The code was not approved in time. Begin again.');
    if (status === 'denied') throw new PlaneError('access_denied', 'The sign-in was denied.');
    return redeem(deviceCode);
  };
  const redeem = async (deviceCode: string): Promise<Grant> => {
    const salt = makeSalt();
    const hash = hashSecret(deviceCode);
    const grant = await db.transaction(async (tx) => {
      const time = now();
      const row = await tx.get<Approved>(
        sql`update plane_device_codes set status = ${'used'}, salt = ${salt}, granted_at = ${time}
          where device_hash = ${hash} and status = ${'approved'} and expires_at > ${time}
          returning client_id, user_id, organization_id, device_name, address`,
      );
      // Who is no member any more is given nothing that would be good again once they are.
      const isMember = row && (await findMember(tx, row.userId, row.organizationId)) !== undefined;
      return isMember ? families.start(tx, { ...row, from: deviceCode, salt }) : undefined;
    }, CLAIM);
    // Another poll came first: what that one was given is the answer to this one, too.
    return grant ?? notPending(await findRow(db, hash), deviceCode);
  };
  return {
    async start({ clientId, deviceName, address = null }) {
      const deviceCode = makeSecret('device');
      const time = now();
      for (;;) {
        const userCode = formatUserCode(Array.from({ length: CODE_LENGTH }, () => LETTERS[randomInt(LETTERS.length)]));
        const added = await db.run(
          sql`insert into plane_device_codes
              (device_hash, user_code_hash, client_id, device_name, address, status, interval_seconds, created_at, expires_at)
            values (${hashSecret(deviceCode)}, ${hashSecret(userCode)}, ${clientId}, ${deviceName}, ${address}, ${'pending'},
              ${pollSeconds}, ${time}, ${time + LIFETIME_S * 1_000}) on conflict (user_code_hash) do nothing`,
        );
        if (added > 0) return { deviceCode, userCode, expiresIn: LIFETIME_S, interval: pollSeconds };
      }
    },
    async poll(deviceCode, clientId) {
      const hash = hashSecret(deviceCode);
      const row = await findRow(db, hash);
      const time = now();
      if (row?.clientId !== clientId || row.status !== 'pending' || row.expiresAt <= time)
        return notPending(row?.clientId === clientId ? row : undefined, deviceCode);
      // One statement each: of two polls at once, one is too fast.
      const pending = sql`device_hash = ${hash} and status = ${'pending'}`;
      const inTime = await db.run(
        sql`update plane_device_codes set polled_at = ${time} where ${pending}
          and (polled_at is null or polled_at + interval_seconds * 1000 - ${LEEWAY_MS} <= ${time})`,
      );
      if (inTime > 0) throw new PlaneError('authorization_pending', 'The sign-in is not approved yet.');
      const tooFast = await db.run(
        sql`update plane_device_codes set polled_at = ${time}, interval_seconds = interval_seconds + ${SLOWER_S}
          where ${pending}`,
      );
      if (tooFast > 0)
        throw new PlaneError('slow_down', `Polled too soon. Wait ${SLOWER_S} s longer between polls from here on.`);
      return notPending(await findRow(db, hash), deviceCode);
    },
    async find(typed) {
      const userCode = parseUserCode(typed);
      if (userCode === undefined) return undefined;
      const row = await db.get<Omit<DeviceCode, 'userCode'>>(
        sql`select device_name, address, status, user_id, created_at, expires_at from plane_device_codes
          where user_code_hash = ${hashSecret(userCode)} and expires_at > ${now()}`,
      );
      return row && { ...row, userCode };
    },
  };
}

/** What a person says to a code, in the transaction it is recorded in. False: it was answered meanwhile, or has expired. */
export async function decideDeviceCode(
  tx: Queries,
  { userCode, now, ...answer }: { userCode: string; now: number } & Decision,
): Promise<boolean> {
  const { status, userId, organizationId } = answer;
  const changed = await tx.run(
    sql`update plane_device_codes set status = ${status}, user_id = ${userId}, organization_id = ${organizationId}
      where user_code_hash = ${hashSecret(userCode)} and status = ${'pending'} and expires_at > ${now}`,
  );
  return changed > 0;
}

export interface Decision {
  status: 'approved' | 'denied';
  userId: string;
  organizationId: string;
}

// --- internal ---

const CLAIM = { isClaim: true };
const LIFETIME_S = 900;
const SLOWER_S = 5;
/** Of what lies between two polls on the way. */
const LEEWAY_MS = 250;
/** How long a lost answer is given again. */
const AGAIN_MS = 60_000;
/** No vowels, which would make words, and nothing that looks like a digit. */
const LETTERS = 'BCDFGHJKLMNPQRSTVWXZ';
const CODE_LENGTH = 8;

interface Row {
  clientId: string;
  status: DeviceStatus;
  salt: string | null;
  grantedAt: number | null;
  expiresAt: number;
}

interface Approved {
  clientId: string;
  userId: string;
  organizationId: string;
  deviceName: string;
  address: string | null;
}

function findRow(queries: Queries, hash: string): Promise<Row | undefined> {
  return queries.get<Row>(
    sql`select client_id, status, salt, granted_at, expires_at from plane_device_codes where device_hash = ${hash}`,
  );
}

function formatUserCode(letters: readonly (string | undefined)[]): string {
  return `${letters.slice(0, 4).join('')}-${letters.slice(4).join('')}`;
}

/** However it is typed: in lower case, with other signs between. Undefined: it is none. */
function parseUserCode(typed: string): string | undefined {
  const letters = [...typed.toUpperCase().replace(/[^A-Z]/g, '')];
  const isCode = letters.length === CODE_LENGTH && letters.every((letter) => LETTERS.includes(letter));
  return isCode ? formatUserCode(letters) : undefined;
}
