import { answerXml } from './answer.ts';
import type { Answer, Call } from './answer.ts';
import { S3Error } from './errors.ts';
import { openPayload, readText } from './payload.ts';
import { childText, parseXml } from './xml.ts';
import type { XmlNode } from './xml.ts';

/** DeleteObjects: up to 1000 keys, each with an answer of its own. */
export async function deleteObjects(call: Call): Promise<Answer> {
  const { request, authorized } = call;
  const text = await readText(openPayload(request, authorized, { maxBytes: MAX_BODY_BYTES }));
  const root = parseXml(text);
  const items = root.children.filter(({ name }) => name === 'Object');
  const keys = items.map((item) => childText(item, 'Key') ?? '');
  if (root.name !== 'Delete' || keys.length === 0 || keys.length > MAX_KEYS || keys.includes('')) {
    throw new S3Error('MalformedXML', `The body must be a Delete with 1 to ${MAX_KEYS} objects, each with its key.`);
  }
  // A delete that may not happen must not happen unasked; conditions and versions are not read here.
  if (items.some(({ children }) => children.some(({ name }) => name !== 'Key'))) {
    throw new S3Error('NotImplemented', 'This server deletes by key only: no version, no condition.');
  }
  const isQuiet = childText(root, 'Quiet')?.trim() === 'true';
  const deleted: XmlNode[] = [];
  for (const key of keys) {
    await call.objects.deleteObject(request.bucket, key);
    if (!isQuiet) deleted.push(['Deleted', [['Key', key]]]);
  }
  return answerXml(['DeleteResult', deleted]);
}

// --- internal ---

const MAX_KEYS = 1000;
const MAX_BODY_BYTES = 8 * 1024 * 1024;
