import { randomBytes, timingSafeEqual } from 'node:crypto';
import { SIGNATURE_HEADER, signCall, toProof } from '../../../runtime/src/auth/signature.ts';
import { PlaneError } from '../errors.ts';
import { unreachable } from './box-client.ts';
import type { BoxClient } from './box-client.ts';

export interface Challenge {
  /** An origin. */
  url: string;
  hmacSecret: string;
  installationId: string;
  /** Milliseconds since 1970. */
  now: number;
}

/**
 * Each side proves to the other that it holds the secret, which is never sent; answers which contract the box speaks. Throws
 * `invalid_signature`, whichever side says it, `installation_mismatch`, `box_unreachable`, `address_private`.
 */
export async function challengeBox(box: BoxClient, challenge: Challenge): Promise<number> {
  const { url, hmacSecret, installationId } = challenge;
  const nonce = randomBytes(NONCE_BYTES).toString('hex');
  const body = JSON.stringify({ nonce });
  const headers = { 'content-type': 'application/json', [SIGNATURE_HEADER]: toSignature(body, challenge) };
  const answer = await box.ask(CHALLENGE_PATH, { method: 'POST', headers, body });
  if (answer.status === 401 && answer.body?.code === 'invalid_signature')
    throw new PlaneError(
      'invalid_signature',
      `The box at ${url} does not accept the secret. Use the HMAC_SECRET it was started with, and check that its clock is right.`,
    );
  if (answer.status === 404) throw unreachable(url, 'it has no registration, so it is no deployed box');
  if (answer.status !== 200) throw unreachable(url, `it answers ${answer.status} to the challenge`);
  const { installationId: id, proof } = answer.body ?? {};
  if (typeof id !== 'string' || typeof proof !== 'string') throw unreachable(url, 'its answer is not that of a box');
  if (!isSame(proof, toProof(hmacSecret, nonce, id)))
    throw new PlaneError('invalid_signature', `What answers at ${url} does not prove that it holds the secret.`);
  if (id !== installationId)
    throw new PlaneError(
      'installation_mismatch',
      `The box at ${url} is the installation "${id.slice(0, MOST_SHOWN)}", not "${installationId}". Set its SVC_INSTALLATION_ID, or register it as that one.`,
    );
  return readContract(box, url);
}

// --- internal ---

const CHALLENGE_PATH = '/api/registration/challenge';
const NONCE_BYTES = 32;
const SIGNATURE_NONCE_BYTES = 16;
const MOST_SHOWN = 64;

function toSignature(body: string, { hmacSecret, now }: Challenge): string {
  const time = String(Math.floor(now / 1_000));
  const nonce = randomBytes(SIGNATURE_NONCE_BYTES).toString('hex');
  const call = { method: 'POST', path: CHALLENGE_PATH, body: Buffer.from(body), time, nonce };
  return `t=${time},n=${nonce},v1=${signCall(call, hmacSecret).toString('hex')}`;
}

function isSame(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}

async function readContract(box: BoxClient, url: string): Promise<number> {
  const { status, body } = await box.ask('/api/contract');
  const version = body?.version;
  if (status === 200 && Number.isSafeInteger(version)) return version as number;
  throw unreachable(url, 'it does not say at /api/contract which contract it speaks');
}
