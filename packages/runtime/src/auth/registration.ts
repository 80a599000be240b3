import type { H3 } from 'h3';
import { z } from 'zod';
import { BoxError } from '../errors.ts';
import { answerJson } from '../http/answer.ts';
import { mountRoute } from '../http/app.ts';
import type { RouteEntry } from '../http/app.ts';
import { inspectJson, readBody } from '../http/body.ts';
import type { Drizzle } from '../stores/drizzle.ts';
import { createUsedOnce } from '../stores/used-once.ts';
import { checkSignature, SIGNATURE_HEADER, toProof } from './signature.ts';

/** What a box is registered by: who it is, and the secret it shares with the control plane. */
export interface Registration {
  installationId: string;
  hmacSecret: string;
}

const Challenge = z.strictObject({ nonce: z.string().regex(/^[\da-f]{64}$/i, 'Send 32 bytes in hex') });

const ROUTE: RouteEntry = {
  method: 'POST',
  path: '/api/registration/challenge',
  summary: 'Prove to the control plane, which signs this call, that this box holds the shared secret',
  doc: {
    id: 'registration.challenge',
    tag: 'registration',
    security: 'signature',
    errors: ['invalid_signature', 'invalid_json', 'invalid_request', 'payload_too_large', 'overloaded', 'not_found'],
    body: Challenge,
    answers: {
      200: {
        description: 'The proof: HMAC-SHA256 over the nonce and the installation id, in hex',
        content: { 'application/json': z.object({ installationId: z.uuid(), proof: z.string() }) },
      },
    },
  },
};

export const REGISTRATION_ROUTES: RouteEntry[] = [ROUTE];

/** The one route a signature opens. A box that shares no secret, as in dev, has nothing to prove: 404. */
export function mountRegistration(app: H3, registration: Registration | undefined, db: Drizzle): void {
  const nonces = createUsedOnce(db, 'signature');
  mountRoute(app, ROUTE, async ({ req, url }) => {
    if (!registration) throw new BoxError('not_found', 'This box is not one that can be registered.');
    const { installationId, hmacSecret } = registration;
    const body = await readBody(req, CHALLENGE_BYTES);
    const header = req.headers.get(SIGNATURE_HEADER);
    const path = url.pathname + url.search;
    await checkSignature({ method: req.method, path, body, header }, hmacSecret, nonces);
    const { nonce } = readChallenge(body);
    return answerJson(200, { installationId, proof: toProof(hmacSecret, nonce, installationId) });
  });
}

// --- internal ---

/** A nonce is 64 characters; what is read before the signature is anyone's. */
const CHALLENGE_BYTES = 4_096;

function readChallenge(body: Buffer): z.infer<typeof Challenge> {
  let value: unknown;
  try {
    value = JSON.parse(body.toString('utf8'));
  } catch (cause) {
    throw new BoxError('invalid_json', 'The body is not JSON.', { cause });
  }
  inspectJson(value);
  const parsed = Challenge.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new BoxError('invalid_request', 'The body holds one member: "nonce", 32 bytes in hex.');
}
