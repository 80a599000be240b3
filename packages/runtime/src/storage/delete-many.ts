import { createHash } from 'node:crypto';
import { eachOf } from '../engine/each-of.ts';
import { BoxError } from '../errors.ts';
import { isRefusal, readResult } from './s3.ts';
import type { S3Bucket } from './s3.ts';
import { childText, listChildren } from './xml.ts';

/** Deletes up to 1,000 objects by their keys in the bucket. What is not there is fine. */
export async function deleteMany(bucket: S3Bucket, keys: readonly string[]): Promise<void> {
  const singly = keys.length === 1 ? keys : keys.filter((key) => !isWritable(key));
  const together = keys.length === 1 ? [] : keys.filter(isWritable);
  if (together.length > 0) await deleteTogether(bucket, together);
  await deleteSingly(bucket, singly);
}

// --- internal ---

const AT_ONCE = 16;

async function deleteTogether(bucket: S3Bucket, keys: readonly string[]): Promise<void> {
  const objects = keys.map((key) => `<Object><Key>${escapeText(key)}</Key></Object>`).join('');
  const body = Buffer.from(`<Delete><Quiet>true</Quiet>${objects}</Delete>`);
  const headers = {
    'content-type': 'application/xml',
    'content-md5': createHash('md5').update(body).digest('base64'),
  };
  try {
    const answer = await bucket.send({ method: 'POST', query: { delete: '' }, headers, body });
    const [first] = listChildren(await readResult(answer, bucket), 'Error');
    if (first) throw toRefusal(childText(first, 'Code') ?? 'an error', bucket);
  } catch (error) {
    // Some backends delete one object at a time.
    if (!isRefusal(error, 405, 501)) throw error;
    await deleteSingly(bucket, keys);
  }
}

async function deleteSingly(bucket: S3Bucket, keys: readonly string[]): Promise<void> {
  await eachOf(keys, AT_ONCE, async (key) => void (await bucket.send({ method: 'DELETE', key })));
}

function toRefusal(code: string, { name }: S3Bucket): BoxError {
  const advice = 'Check what SVC_S3_ACCESS_KEY is allowed in the bucket.';
  const message = `The object storage refused to delete an object with ${code}, bucket "${name}". ${advice}`;
  return new BoxError('storage_refused', message, { details: { status: 200, code } });
}

/** XML has no way to write some of the characters that a key may hold. */
function isWritable(key: string): boolean {
  // oxlint-disable-next-line no-control-regex
  return !/[\u0000-\u0008\u000B\u000C\u000E-\u001F\uFFFE\uFFFF]/.test(key);
}

function escapeText(text: string): string {
  return text.replace(/[&<>"\t\n\r]/g, (character) => `&#${character.charCodeAt(0)};`);
}
