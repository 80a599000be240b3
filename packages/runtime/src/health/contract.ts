import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { getPackageFile } from '../stores/package-file.ts';

/** The protocol handshake: what this build speaks and what it offers. */
export const Contract = z.object({
  version: z.int().describe('Protocol version'),
  minSupported: z.int().describe('The oldest protocol version this build still serves'),
  capabilities: z.array(z.string()),
  build: z.object({ name: z.string(), version: z.string() }),
});
export type Contract = z.infer<typeof Contract>;

/** A capability is listed only when its room works. */
const CAPABILITIES = [
  'activity.read',
  'ai.modelgateway',
  'approval.fire_and_forget',
  'browser.provider',
  'config.read_write',
  'database.postgres_direct',
  'prompts.basic',
  'queues.jobs',
  'rag.basic',
  'secrets.read_write',
  'storage.s3',
];

/** What this build speaks and offers. A box that has no storage, or no browser that answers, does not offer it. */
export function contractPayload({ storage = true, browser = true } = {}): Contract {
  const missing = [...(storage ? [] : ['storage.s3']), ...(browser ? [] : ['browser.provider'])];
  const capabilities = CAPABILITIES.filter((name) => !missing.includes(name));
  return { version: 15, minSupported: 1, capabilities, build: readBuild() };
}

// --- internal ---

function readBuild(): Contract['build'] {
  const { name, version } = JSON.parse(readFileSync(getPackageFile('package.json'), 'utf8')) as Contract['build'];
  return { name, version };
}
