import { answerEmpty, answerXml } from './answer.ts';
import type { Answer, Call } from './answer.ts';
import { S3Error } from './errors.ts';
import type { XmlNode } from './xml.ts';

export async function listBuckets({ objects, region }: Call): Promise<Answer> {
  const buckets = await objects.listBuckets();
  return answerXml([
    'ListAllMyBucketsResult',
    [
      ['Owner', [['ID', region]]],
      [
        'Buckets',
        buckets.map(({ name, createdAt }): XmlNode => [
          'Bucket',
          [
            ['Name', name],
            ['CreationDate', createdAt],
          ],
        ]),
      ],
    ],
  ]);
}

export async function headBucket(call: Call): Promise<Answer> {
  return answerEmpty(200, { 'x-amz-bucket-region': call.region });
}

export async function createBucket({ objects, request }: Call): Promise<Answer> {
  if (!(await objects.createBucket(request.bucket))) {
    throw new S3Error('BucketAlreadyOwnedByYou', `The bucket "${request.bucket}" exists already, and it is yours.`);
  }
  return answerEmpty(200, { location: `/${request.bucket}` });
}

export async function getBucketLocation(call: Call): Promise<Answer> {
  return answerXml(['LocationConstraint', call.region === 'us-east-1' ? '' : call.region]);
}

/** S3's rule for names, which also keeps them safe as folder names. */
export function checkBucketName(name: string): void {
  const isAddress = /^\d+\.\d+\.\d+\.\d+$/.test(name);
  if (/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(name) && !name.includes('..') && !isAddress) return;
  throw new S3Error(
    'InvalidBucketName',
    `"${name}" is not a valid bucket name. Use 3 to 63 lower-case letters, digits, dots and hyphens.`,
  );
}

export async function checkBucket(call: Call, bucket: string): Promise<void> {
  if (await call.objects.hasBucket(bucket)) return;
  throw new S3Error('NoSuchBucket', `There is no bucket "${bucket}".`, { fields: { BucketName: bucket } });
}
