// @ts-check
/**
 * `make-bucket.mjs [milliseconds]`: makes the bucket of a box and ends. With 0 when it is there, made or found; with 1
 * and the reason when the store refuses, or does not answer for that long, a minute unless given. Doing it again
 * changes nothing.
 */
import { createHash, createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';

const PATIENCE_MS = Number(process.argv[2] ?? 60_000);
const PAUSE_MS = 500;

const { SVC_S3_ENDPOINT = '', SVC_S3_BUCKET = '', SVC_S3_REGION = 'us-east-1' } = process.env;
let SVC_S3_ACCESS_KEY = '';
let SVC_S3_SECRET_KEY = '';

try {
  SVC_S3_ACCESS_KEY = readSecret('SVC_S3_ACCESS_KEY');
  SVC_S3_SECRET_KEY = readSecret('SVC_S3_SECRET_KEY');
  const missing = Object.entries({ SVC_S3_ENDPOINT, SVC_S3_BUCKET, SVC_S3_ACCESS_KEY, SVC_S3_SECRET_KEY })
    .filter(([, value]) => value === '')
    .map(([name]) => name);
  if (missing.length > 0) throw new Error(`${missing.join(', ')} must be set.`);
  console.error(`The bucket "${SVC_S3_BUCKET}" is ${await ensureBucket()}.`);
} catch (error) {
  console.error(/** @type {Error} */ (error).message);
  process.exitCode = 1;
}

// --- internal ---

/**
 * A variable, or what lies in the file that `<name>_FILE` names, as for the box.
 * @param {string} name
 */
function readSecret(name) {
  const { [name]: value = '', [`${name}_FILE`]: file = '' } = process.env;
  if (file === '') return value;
  if (value !== '') throw new Error(`${name}_FILE is set as well as ${name}; keep one of the two.`);
  try {
    return readFileSync(file, 'utf8').trimEnd();
  } catch (error) {
    const { code } = /** @type {NodeJS.ErrnoException} */ (error);
    throw new Error(`${name}_FILE names "${file}", which cannot be read (${code}).`, { cause: error });
  }
}

/** @returns {Promise<'made' | 'there'>} */
async function ensureBucket() {
  const deadline = Date.now() + PATIENCE_MS;
  let reason = '';
  do {
    try {
      const found = await ask('HEAD');
      if (found.status === 200) return 'there';
      const made = found.status === 404 ? await ask('PUT') : found;
      if (made.status === 200) return 'made';
      reason = `answers ${made.status}`;
      if (made.status === 401 || made.status === 403) break;
    } catch (error) {
      const { cause, message } = /** @type {Error} */ (error);
      reason = `does not answer (${/** @type {NodeJS.ErrnoException | undefined} */ (cause)?.code ?? message})`;
    }
    await wait(PAUSE_MS);
  } while (Date.now() < deadline);
  const check = /40[13]/.test(reason)
    ? 'Check SVC_S3_ACCESS_KEY and SVC_S3_SECRET_KEY.'
    : 'Look at the log of the store.';
  throw new Error(`The bucket "${SVC_S3_BUCKET}" cannot be made: ${SVC_S3_ENDPOINT} ${reason}. ${check}`);
}

/**
 * A request about the bucket, signed with SigV4.
 * @param {string} method
 */
async function ask(method) {
  const url = new URL(`/${SVC_S3_BUCKET}`, SVC_S3_ENDPOINT);
  const time = new Date().toISOString().replaceAll(/[-:]|\.\d+/g, '');
  const scope = [time.slice(0, 8), SVC_S3_REGION, 's3', 'aws4_request'];
  const payload = sha256('');
  const headers = { host: url.host, 'x-amz-content-sha256': payload, 'x-amz-date': time };
  const names = Object.keys(headers).join(';');
  const lines = Object.entries(headers).map(([name, value]) => `${name}:${value}\n`);
  const canonical = [method, url.pathname, '', lines.join(''), names, payload].join('\n');
  const key = scope.reduce(hmac, Buffer.from(`AWS4${SVC_S3_SECRET_KEY}`));
  const signature = hmac(key, ['AWS4-HMAC-SHA256', time, scope.join('/'), sha256(canonical)].join('\n')).toString(
    'hex',
  );
  const credential = `${SVC_S3_ACCESS_KEY}/${scope.join('/')}`;
  const authorization = `AWS4-HMAC-SHA256 Credential=${credential}, SignedHeaders=${names}, Signature=${signature}`;
  const { host: _, ...sent } = headers;
  return fetch(url, { method, headers: { ...sent, authorization }, signal: AbortSignal.timeout(5000) });
}

/** @param {string} text */
function sha256(text) {
  return createHash('sha256').update(text).digest('hex');
}

/**
 * @param {Buffer} key
 * @param {string} text
 */
function hmac(key, text) {
  return createHmac('sha256', key).update(text).digest();
}
