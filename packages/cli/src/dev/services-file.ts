import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { StorageSettings } from '@svc/runtime/host';

/** Where the stores of a dev box are. */
export interface Endpoints {
  postgres_url: string;
  s3_endpoint: string;
  s3_bucket: string;
}

type StorageKeys = Pick<StorageSettings, 'accessKey' | 'secretKey' | 'region' | 'forcePathStyle'>;

/** For other programs of the project, `set -a; . .svc/services.env`. Readable by its owner alone. */
export function writeServicesFile(dir: string, services: Endpoints & StorageKeys): void {
  const lines = [
    `DATABASE_URL=${services.postgres_url}`,
    `SVC_S3_ENDPOINT=${services.s3_endpoint}`,
    `SVC_S3_BUCKET=${services.s3_bucket}`,
    `SVC_S3_ACCESS_KEY=${services.accessKey}`,
    `SVC_S3_SECRET_KEY=${services.secretKey}`,
    `SVC_S3_REGION=${services.region}`,
    `SVC_S3_FORCE_PATH_STYLE=${services.forcePathStyle}`,
  ];
  writeFileSync(join(dir, 'services.env'), `${lines.join('\n')}\n`, { mode: 0o600 });
}
