import { createHash, timingSafeEqual } from 'node:crypto';
import type { Socket } from 'node:net';
import type { PgliteClient, PgliteLease } from './pglite.ts';
import { ASK_PASSWORD, createFrameReader, formatFatal, SYNC } from './pg-wire.ts';
import type { WireFrame } from './pg-wire.ts';

export interface PgSessionOptions {
  pglite: PgliteClient;
  socket: Socket;
  /** Unique among the connections of this database. */
  id: number;
  /** How long a client may hold the database in an open transaction without a word. */
  idleTransactionMs: number;
  /** Undefined: whoever connects is let in. */
  password?: string | undefined;
}

/**
 * Serves one client until it leaves. PGlite has a single session, so the client holds a lease from the first message
 * of a statement or transaction to its end, and its settings are put aside in between: neither the box nor another
 * client ever runs inside its transaction or under its `set`.
 */
export async function servePgSession(options: PgSessionOptions): Promise<void> {
  const { pglite, socket, id, idleTransactionMs, password } = options;
  const readFrames = createFrameReader({ prefix: `c${id}_`, asksPassword: password !== undefined });
  /** What a client has begun with that has not shown the password. */
  let begun: Uint8Array | undefined;
  let lease: PgliteLease | undefined;
  let settings: Setting[] = [];
  let isSettingsDirty = false;
  let isSynced = true;
  let timer: NodeJS.Timeout | undefined;
  const hangUp = (): void => void socket.destroy();

  const take = async (): Promise<PgliteLease> => {
    clearTimeout(timer);
    if (lease) return lease;
    lease = await pglite.lease();
    lease.ended.addEventListener('abort', hangUp);
    if (settings.length > 0) await restoreSettings(lease, settings);
    isSettingsDirty ||= settings.length > 0;
    return lease;
  };
  const give = async (): Promise<void> => {
    const held = lease;
    if (!held) return;
    clearTimeout(timer);
    try {
      if (isSettingsDirty) settings = await putSettingsAside(held);
      isSettingsDirty = false;
    } finally {
      lease = undefined;
      held.ended.removeEventListener('abort', hangUp);
      held.release();
    }
  };
  const answer = async (frame: WireFrame): Promise<void> => {
    if (frame.kind === 'encryption') return void socket.write('N');
    if (frame.kind === 'foreign' || frame.kind === 'terminate') return hangUp();
    if (frame.kind === 'startup' && password !== undefined) {
      begun = frame.bytes;
      return void socket.write(ASK_PASSWORD);
    }
    if (frame.kind === 'password' && !isSame(frame.text, password ?? '')) return refusePassword(socket);
    if (frame.kind === 'messages') {
      isSettingsDirty ||= frame.mayChangeSettings;
      isSynced = frame.synced;
    }
    const held = await take();
    if (socket.destroyed) return; // it left while it waited
    const bytes = frame.kind === 'password' ? (begun ?? new Uint8Array()) : frame.bytes;
    const { inTransaction } = await held.wire(bytes, (chunk) => void socket.write(chunk));
    if (isSynced && !inTransaction) return give();
    timer = setTimeout(() => refuseIdle(socket), idleTransactionMs);
  };

  try {
    for await (const chunk of socket) {
      for (const frame of readFrames(chunk as Uint8Array)) if (socket.writable) await answer(frame);
    }
  } catch {
    hangUp(); // the client broke off, or the worker is gone; either way no reader is left
  } finally {
    clearTimeout(timer);
    if (lease) await rollBack(lease, isSynced).catch(() => {});
    await give().catch(() => {});
  }
}

// --- internal ---

interface Setting {
  name: string;
  setting: string;
}

const IDLE_GRACE_MS = 1_000;
const RESET = 'reset session authorization; reset role; reset all';

async function rollBack(lease: PgliteLease, isSynced: boolean): Promise<void> {
  if (!isSynced) await lease.wire(SYNC, () => {});
  await lease.session.exec('rollback');
}

async function putSettingsAside(lease: PgliteLease): Promise<Setting[]> {
  const rows = await lease.session.query<Setting>(
    `select name, setting from pg_settings where source = 'session'
     union all select 'role', current_setting('role') where current_setting('role') <> 'none'`,
  );
  await lease.session.exec(RESET);
  return rows;
}

async function restoreSettings(lease: PgliteLease, settings: Setting[]): Promise<void> {
  await lease.session.query(
    'select set_config(name, setting, false) from json_to_recordset($1) as saved(name text, setting text)',
    [JSON.stringify(settings)],
  );
}

/** In a time that does not depend on how much of it is right. */
function isSame(given: string, password: string): boolean {
  const [one, other] = [given, password].map((text) => createHash('sha256').update(text).digest());
  return one !== undefined && other !== undefined && timingSafeEqual(one, other);
}

function refusePassword(socket: Socket): void {
  const message = 'The password is wrong. The address with the right one is in .svc/services.env.';
  socket.write(formatFatal('28P01', message));
  socket.destroySoon();
}

function refuseIdle(socket: Socket): void {
  const message = 'The connection was closed: it held a transaction open and idle, and everything else had to wait.';
  socket.end(formatFatal('25P03', message));
  setTimeout(() => socket.destroy(), IDLE_GRACE_MS).unref();
}
