import { z } from 'zod';
import { entryOf } from '../audit/audit.ts';
import type { Audit } from '../audit/audit.ts';
import { PlaneError } from '../errors.ts';
import { route } from '../http/route.ts';
import type { Account, Call, Route } from '../http/route.ts';
import type { Access } from '../organizations/access.ts';
import type { Db } from '../store/db.ts';
import { createThrottle } from '../throttle/throttle.ts';
import { decideDeviceCode } from './device-codes.ts';
import type { DeviceCode, DeviceCodes } from './device-codes.ts';

export interface DeviceRoutes {
  db: Db;
  now(): number;
  access: Access;
  audit: Audit;
  deviceCodes: DeviceCodes;
}

/** Where a person approves the sign-in of a machine; the page of it asks these. */
export function deviceRoutes({ db, now, access, audit, deviceCodes }: DeviceRoutes): Route[] {
  const unknown = createThrottle({ db, now, kind: 'device', most: MOST_UNKNOWN, message: 'Too many unknown codes.' });
  /** Throws `code_unknown`, `rate_limited`. What is right is not counted, and after too many wrong ones not answered. */
  const find = async (call: Call, account: Account, userCode: string): Promise<DeviceCode> => {
    const subjects = [`person:${account.userId}`, `address:${call.address ?? ''}`];
    await unknown.require(subjects);
    const code = await deviceCodes.find(userCode);
    // One that was answered is shown to who did alone.
    const isOwn = code && (code.status === 'pending' || code.userId === account.userId);
    if (!isOwn) {
      await unknown.count(subjects);
      throw codeUnknown();
    }
    await unknown.require(subjects);
    return code;
  };
  const common = { path: '/device', tag: 'device', access: 'person' } as const;
  return [
    route({
      ...common,
      id: 'device.get',
      method: 'GET',
      summary: 'Show which machine asks to be signed in with a code',
      query: z.object({ user_code: z.string().max(64).default('') }),
      answer: DeviceAnswer,
      errors: ['forbidden', 'code_unknown', 'rate_limited'],
      async handle(call, { query }) {
        const { userCode, deviceName, address, status, createdAt, expiresAt } = await find(
          call,
          requireCookie(call),
          query.user_code ?? '',
        );
        const times = { createdAt: new Date(createdAt).toISOString(), expiresAt: new Date(expiresAt).toISOString() };
        return { userCode, deviceName, address, status, ...times };
      },
    }),
    route({
      ...common,
      id: 'device.decide',
      method: 'POST',
      summary: 'Approve or deny the sign-in of the machine that shows a code',
      body: z.strictObject({
        user_code: z.string().max(64),
        organization: z.string().max(64).optional().describe('Its id. Default: the one that is acted in.'),
        decision: z.enum(['approve', 'deny']),
      }),
      answer: z.object({ status: z.enum(['approved', 'denied']) }),
      errors: ['forbidden', 'no_organization', 'not_found', 'code_unknown', 'rate_limited'],
      async handle(call, { body: { user_code: typed, organization, decision } }) {
        const account = requireCookie(call);
        const organizationId = organization ?? call.person().organizationId;
        await access.require(account, organizationId, 'organization:read');
        const { userCode, deviceName } = await find(call, account, typed);
        const { userId } = account;
        const status = decision === 'approve' ? 'approved' : 'denied';
        const answered = { userCode, now: call.now, status, userId, organizationId } as const;
        const isDecided = await db.transaction(
          async (tx) => {
            if (!(await decideDeviceCode(tx, answered))) return false;
            const action = `device.${decision}`;
            await audit.record(entryOf(call, { organizationId, action, target: deviceName }), tx);
            return true;
          },
          { isClaim: true },
        );
        if (!isDecided) throw codeUnknown();
        return { status };
      },
    }),
  ];
}

// --- internal ---

/** Of a person, and of an address, in a minute. */
const MOST_UNKNOWN = 5;

const DeviceAnswer = z.object({
  userCode: z.string(),
  deviceName: z.string().describe('As the machine calls itself.'),
  address: z.string().nullable().describe('Where it asked from.'),
  status: z.enum(['pending', 'approved', 'denied', 'used']),
  createdAt: z.iso.datetime(),
  expiresAt: z.iso.datetime(),
});

/** Throws `forbidden`: a credential of a program would make itself another one that outlasts it. */
function requireCookie(call: Call): Account {
  const account = call.account();
  if (account.via === 'session') return account;
  throw new PlaneError('forbidden', 'A sign-in is approved by a person in a browser. Open the page and sign in there.');
}

function codeUnknown(): PlaneError {
  return new PlaneError(
    'code_unknown',
    'There is no such code, or it has expired or was answered. Look at the machine again.',
  );
}
