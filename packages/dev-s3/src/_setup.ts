import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { S3Client } from '@aws-sdk/client-s3';
import type { S3ClientConfig } from '@aws-sdk/client-s3';
import { onTestFinished } from 'vitest';

import { startObjectServer } from './server.ts';
import type { ObjectServer } from './server.ts';

export const KEYS = { accessKey: 'svc-dev', secretKey: 'a secret of some length' };
export const BUCKET = 'box';

export interface Fixture {
  dir: string;
  server: ObjectServer;
  s3: S3Client;
  errors: unknown[];
}

/** A server over an empty folder and a client that knows its keys. All of it goes when the test ends. */
export async function startFixture(): Promise<Fixture> {
  const dir = await newFolder();
  const errors: unknown[] = [];
  const server = await startServer(dir, { onError: (error) => errors.push(error) });
  return { dir, server, s3: newClient(server.url), errors };
}

export async function newFolder(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'objects-'));
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  return dir;
}

export async function startServer(
  dir: string,
  options: { onError?: (error: unknown) => void; port?: number } = {},
): Promise<ObjectServer> {
  const server = await startObjectServer({ dir, port: 0, ...KEYS, buckets: [BUCKET], ...options });
  onTestFinished(() => server.close());
  return server;
}

export function newClient(url: string, config: Partial<S3ClientConfig> & { secretKey?: string } = {}): S3Client {
  const { secretKey = KEYS.secretKey, ...rest } = config;
  const client = new S3Client({
    endpoint: url,
    region: 'us-east-1',
    forcePathStyle: true,
    maxAttempts: 1,
    credentials: { accessKeyId: KEYS.accessKey, secretAccessKey: secretKey },
    ...rest,
  });
  onTestFinished(() => client.destroy());
  return client;
}

/** Every file below the folder. */
export async function listFiles(dir: string): Promise<string[]> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

export interface RawAnswer {
  status: number;
  headers: NodeJS.Dict<string | string[]>;
  text: string;
  /** The S3 error code, when there is one. */
  code: string | undefined;
}

export interface RawRequest {
  method?: string;
  /** Sent as it is, dots and all. */
  path?: string;
  headers?: Record<string, string>;
  body?: string | Uint8Array;
}

/** A request by hand: nothing is normalised, signed or retried. */
export function sendRaw(url: string, raw: RawRequest): Promise<RawAnswer> {
  const { hostname, port } = new URL(url);
  const { method = 'GET', path = '/', headers = {}, body } = raw;
  return new Promise((resolve, reject) => {
    const outgoing = request({ hostname, port, method, path, headers, agent: false }, (incoming) => {
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      incoming.on('error', reject);
      incoming.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8');
        const code = /<Code>(\w+)<\/Code>/.exec(text)?.[1];
        resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, text, code });
      });
    });
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

/** Waits until the check answers true; fails after fifteen seconds. */
export async function waitUntil(check: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 15_000;
  while (!(await check())) {
    if (Date.now() > deadline) throw new Error('The condition did not come true within fifteen seconds.');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
