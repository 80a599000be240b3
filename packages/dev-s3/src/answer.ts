import type { S3Error } from './errors.ts';
import type { S3Request } from './request.ts';
import type { Authorized } from './signature.ts';
import type { ByteRange, ObjectStore, OpenObject, UploadStore } from './store.ts';
import { formatXml } from './xml.ts';
import type { XmlNode } from './xml.ts';

/** One authorized request and what it works on. */
export interface Call {
  request: S3Request;
  authorized: Authorized;
  /** Every `x-amz-` setting, from the header or a presigned query. */
  settings: ReadonlyMap<string, string>;
  objects: ObjectStore;
  uploads: UploadStore;
  region: string;
}

export interface Answer {
  status: number;
  headers: Record<string, string>;
  /** Text, or an open object; whoever sends the answer closes it. */
  body?: string | { object: OpenObject; range?: ByteRange | undefined };
}

export function answerXml(root: XmlNode, headers: Record<string, string> = {}): Answer {
  return { status: 200, headers: { 'content-type': 'application/xml', ...headers }, body: formatXml(root) };
}

export function answerEmpty(status: number, headers: Record<string, string> = {}): Answer {
  return { status, headers };
}

export function answerError(error: S3Error, context: { id: string; resource: string }): Answer {
  if (error.status === 304) return answerEmpty(304, error.headers);
  const root: XmlNode = [
    'Error',
    [
      ['Code', error.code],
      ['Message', error.message],
      ...Object.entries(error.fields),
      ['Resource', context.resource],
      ['RequestId', context.id],
    ],
  ];
  const headers = { 'content-type': 'application/xml', ...error.headers };
  return { status: error.status, headers, body: formatXml(root, { namespace: false }) };
}
