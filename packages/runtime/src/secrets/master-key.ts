import { createHash, createSecretKey, randomBytes } from 'node:crypto';
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { BoxError } from '../errors.ts';
import type { MasterKey } from './seal.ts';

export interface MasterKeySource {
  /** The value of the variable. It wins over the file. */
  value: string | undefined;
  /** Where a development box keeps the key it makes for itself. Undefined: the variable is required. */
  file: string | undefined;
  /** Which variable it is, for messages. Default: SVC_SECRET_KEY. */
  variable?: 'SVC_SECRET_KEY' | 'SVC_SECRET_KEY_PREVIOUS';
}

/** The key that seals every secret, or an error that names SVC_SECRET_KEY and the command that makes one. */
export async function loadMasterKey({ value, file, variable = 'SVC_SECRET_KEY' }: MasterKeySource): Promise<MasterKey> {
  if (value !== undefined && value !== '') return parseMasterKey(value, variable);
  if (file === undefined) {
    const message = `${variable} is missing. It encrypts every stored secret. Make one: ${COMMAND}`;
    throw new BoxError('secret_key_missing', message);
  }
  const text = await openKeyFile(file);
  return parseMasterKey(text.trim(), `The key in "${file}", which is used in place of SVC_SECRET_KEY,`);
}

/** What a file with a key holds; one is made where there is none, readable by its owner alone. */
export async function openKeyFile(file: string): Promise<string> {
  return (await readKeyFile(file)) ?? createKeyFile(file);
}

/** One of this process alone, kept nowhere. */
export function newMasterKey(): MasterKey {
  return toMasterKey(randomBytes(KEY_BYTES));
}

/** Of 32 bytes. */
export function toMasterKey(bytes: Buffer): MasterKey {
  const kid = createHash('sha256').update(bytes).digest('hex').slice(0, 16);
  return { key: createSecretKey(bytes), kid };
}

export function isMasterKey(text: string): boolean {
  const bytes = Buffer.from(text, 'base64');
  const isBase64 = bytes.toString('base64').replace(/=+$/, '') === text.trim().replace(/=+$/, '');
  return isBase64 && bytes.length === KEY_BYTES;
}

// --- internal ---

const KEY_BYTES = 32;
const COMMAND = 'openssl rand -base64 32';

function parseMasterKey(text: string, what: string): MasterKey {
  if (!isMasterKey(text)) {
    const message = `${what} is not 32 bytes in base64. Make one: ${COMMAND}`;
    throw new BoxError('secret_key_invalid', message);
  }
  return toMasterKey(Buffer.from(text, 'base64'));
}

async function readKeyFile(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Appears whole, readable by its owner alone. Of two boxes that make one at once, both use the first. */
async function createKeyFile(file: string): Promise<string> {
  await mkdir(dirname(file), { recursive: true });
  const draft = `${file}.${process.pid}.${randomBytes(4).toString('hex')}`;
  await writeFile(draft, `${randomBytes(KEY_BYTES).toString('base64')}\n`, { mode: 0o600, flag: 'wx' });
  try {
    await link(draft, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    await rm(draft, { force: true });
  }
  return readFile(file, 'utf8');
}
