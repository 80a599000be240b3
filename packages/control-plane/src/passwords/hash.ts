import * as crypto from 'node:crypto';
import { promisify } from 'node:util';

/** How much work a password is. `least` is for tests, which hash hundreds. */
export type PasswordCost = 'full' | 'least';

/** What a password is stored as: `<algorithm>$<parameters>$<salt>$<hash>`, so that each can be checked as it was made. */
export async function hashPassword(password: string, cost: PasswordCost): Promise<string> {
  const salt = crypto.randomBytes(SALT_BYTES);
  const parameters = COSTS[cost][PREFERRED];
  const bytes = await ALGORITHMS[PREFERRED](normalize(password), salt, parameters);
  return [PREFERRED, formatParameters(parameters), salt.toString('base64url'), bytes.toString('base64url')].join('$');
}

/** Throws when this Node lacks the algorithm the password was stored with. */
export async function verifyPassword(password: string, stored: string): Promise<boolean> {
  const { name, parameters, salt, hash } = parseStored(stored);
  const bytes = await ALGORITHMS[name](normalize(password), salt, parameters);
  return bytes.length === hash.length && crypto.timingSafeEqual(bytes, hash);
}

/** Whether a stored password is to be hashed again, because this Node has better. */
export function isOutdated(stored: string, cost: PasswordCost): boolean {
  const { name, parameters } = parseStored(stored);
  return name !== PREFERRED || formatParameters(parameters) !== formatParameters(COSTS[cost][PREFERRED]);
}

// --- internal ---

const SALT_BYTES = 16;
const HASH_BYTES = 32;

type Name = 'argon2id' | 'scrypt';
type Parameters = Record<string, number>;
type Hash = (password: string, salt: Buffer, parameters: Parameters) => Promise<Buffer>;

const COSTS: Record<PasswordCost, Record<Name, Parameters>> = {
  /** 19 MiB a password, and 32 MiB. */
  full: { argon2id: { m: 19_456, t: 2, p: 1 }, scrypt: { N: 32_768, r: 8, p: 3 } },
  least: { argon2id: { m: 256, t: 1, p: 1 }, scrypt: { N: 256, r: 8, p: 1 } },
};

/** Node 24 has it, and Node 20 does not. */
const argon2 = (crypto as { argon2?: Argon2 }).argon2;
const PREFERRED: Name = argon2 ? 'argon2id' : 'scrypt';

type Argon2 = (
  algorithm: 'argon2id',
  options: {
    message: string;
    nonce: Buffer;
    parallelism: number;
    tagLength: number;
    memory: number;
    passes: number;
  },
  done: (error: Error | null, bytes: Buffer) => void,
) => void;

const scrypt = promisify<string, Buffer, number, crypto.ScryptOptions, Buffer>(crypto.scrypt);

const ALGORITHMS: Record<Name, Hash> = {
  argon2id: (password, salt, { m = 0, t = 0, p = 0 }) =>
    new Promise((resolve, reject) => {
      if (!argon2) return reject(new Error('A password is stored as argon2id, which this Node lacks: use Node 24.'));
      const options = { message: password, nonce: salt, parallelism: p, tagLength: HASH_BYTES, memory: m, passes: t };
      argon2('argon2id', options, (error, bytes) => (error ? reject(error) : resolve(bytes)));
    }),
  scrypt: (password, salt, { N = 0, r = 0, p = 0 }) =>
    scrypt(password, salt, HASH_BYTES, { N, r, p, maxmem: 256 * N * r }),
};

/** The same characters typed on another keyboard may come as other code points. */
function normalize(password: string): string {
  return password.normalize('NFKC');
}

function formatParameters(parameters: Parameters): string {
  return Object.entries(parameters)
    .map(([name, value]) => `${name}=${value}`)
    .join(',');
}

function parseStored(stored: string): { name: Name; parameters: Parameters; salt: Buffer; hash: Buffer } {
  const [name = '', parameters = '', salt = '', hash = ''] = stored.split('$');
  if (!Object.hasOwn(ALGORITHMS, name)) throw new Error('A stored password is of no algorithm there is.');
  return {
    name: name as Name,
    parameters: Object.fromEntries(
      parameters.split(',').map((pair) => {
        const [key = '', value] = pair.split('=');
        return [key, Number(value)];
      }),
    ),
    salt: Buffer.from(salt, 'base64url'),
    hash: Buffer.from(hash, 'base64url'),
  };
}
