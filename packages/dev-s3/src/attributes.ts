import type { Call } from './answer.ts';
import { checksumHeader } from './checksum.ts';
import type { Checksum } from './checksum.ts';
import { S3Error } from './errors.ts';
import { findHeader, findParam, toHeaderValue } from './request.ts';
import type { ObjectAttributes, ObjectRecord } from './store.ts';

/** The headers and metadata a write gives an object. Settings this server would silently lose are refused. */
export function readAttributes(call: Call): ObjectAttributes {
  for (const name of call.settings.keys()) {
    if (REFUSED.some((prefix) => name.startsWith(prefix))) {
      throw new S3Error('NotImplemented', `The setting "${name}" is not supported by this server.`);
    }
  }
  return { headers: readContentHeaders(call), metadata: readMetadata(call) };
}

/** What a read says about an object, but for length and range. */
export function formatAttributes(record: ObjectRecord): Record<string, string> {
  const metadata = Object.entries(record.metadata).map(([name, value]) => [`${METADATA}${name}`, value]);
  return {
    ...record.headers,
    ...Object.fromEntries(metadata),
    etag: `"${record.etag}"`,
    'last-modified': new Date(record.lastModified).toUTCString(),
    'accept-ranges': 'bytes',
  };
}

/** The `response-` parameters of a read, which replace the stored headers. */
export function readOverrides(call: Call): Record<string, string> {
  const overrides: Record<string, string> = {};
  for (const name of CONTENT_HEADERS) {
    const value = findParam(call.request, `response-${name}`);
    if (value !== undefined) overrides[name] = checkHeaderValue(`response-${name}`, toHeaderValue(value));
  }
  return overrides;
}

export function formatChecksum(checksum: Checksum | undefined): Record<string, string> {
  if (!checksum) return {};
  return { [checksumHeader(checksum.algorithm)]: checksum.value, 'x-amz-checksum-type': 'FULL_OBJECT' };
}

// --- internal ---

const METADATA = 'x-amz-meta-';
const MAX_METADATA_BYTES = 2048;
const CONTENT_HEADERS = [
  'content-type',
  'content-language',
  'content-encoding',
  'content-disposition',
  'cache-control',
  'expires',
] as const;
const REFUSED = [
  'x-amz-server-side-encryption-customer-',
  'x-amz-copy-source-server-side-encryption-customer-',
  'x-amz-object-lock-',
  'x-amz-tagging',
  'x-amz-website-redirect-location',
  'x-amz-write-offset-bytes',
];

function readContentHeaders(call: Call): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const name of CONTENT_HEADERS) {
    const value = findHeader(call.request, name);
    if (value !== undefined) headers[name] = value;
  }
  // aws-chunked is how the body travelled, not what it is.
  const encodings = (headers['content-encoding'] ?? '').split(',').map((coding) => coding.trim());
  const kept = encodings.filter((coding) => coding !== '' && coding !== 'aws-chunked').join(',');
  delete headers['content-encoding'];
  if (kept !== '') headers['content-encoding'] = kept;
  headers['content-type'] ??= 'binary/octet-stream';
  return headers;
}

function readMetadata(call: Call): Record<string, string> {
  const entries: [string, string][] = [];
  let bytes = 0;
  for (const [setting, value] of call.settings) {
    if (!setting.startsWith(METADATA)) continue;
    const name = setting.slice(METADATA.length);
    if (!/^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(name)) {
      throw new S3Error('InvalidArgument', `"${setting}" is not a valid header name.`);
    }
    bytes += name.length + value.length;
    entries.push([name, checkHeaderValue(setting, value)]);
  }
  if (bytes > MAX_METADATA_BYTES) {
    throw new S3Error('MetadataTooLarge', `Metadata may hold ${MAX_METADATA_BYTES} bytes; this has ${bytes}.`);
  }
  // From entries, so that a name such as "__proto__" is an entry like any other.
  return Object.fromEntries(entries);
}

function checkHeaderValue(name: string, value: string): string {
  if (/^[\t\u0020-\u007E\u0080-\u00FF]*$/.test(value)) return value;
  throw new S3Error('InvalidArgument', `The value of "${name}" holds characters that no header may carry.`);
}
