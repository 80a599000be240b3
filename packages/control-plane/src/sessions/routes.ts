import { z } from 'zod';
import { entryOf } from '../audit/audit.ts';
import type { Audit } from '../audit/audit.ts';
import { notFound } from '../errors.ts';
import { route } from '../http/route.ts';
import type { Account, Call, Route } from '../http/route.ts';
import { requireSignedIn } from '../organizations/access.ts';
import type { Db } from '../store/db.ts';
import { endOtherSignIns, endSignIn, listSignIns } from './sign-ins.ts';
import type { SignedInAt } from './sign-ins.ts';

/** Where a person is signed in: its own, whichever organisation it acts in, and no other's. */
export function sessionRoutes({ db, audit }: { db: Db; audit: Audit }): Route[] {
  const common = { tag: 'sessions', access: 'person', path: '/api/v1/sessions', errors: ['forbidden'] } as const;
  const requireAccount = (call: Call): Account => {
    const account = call.account();
    requireSignedIn(account);
    return account;
  };
  return [
    route({
      ...common,
      id: 'sessions.list',
      method: 'GET',
      summary: 'List the browsers and command lines one is signed in with, the one used last first',
      answer: z.object({ items: z.array(SessionAnswer) }),
      async handle(call) {
        const { userId, credentialId } = requireAccount(call);
        return { items: (await listSignIns(db, userId, call.now)).map((one) => toAnswer(one, credentialId)) };
      },
    }),
    route({
      ...common,
      id: 'sessions.end',
      method: 'DELETE',
      path: '/api/v1/sessions/:id',
      summary: 'Sign one of one’s browsers or command lines out',
      status: 204,
      errors: ['forbidden', 'not_found'],
      async handle(call, { params: { id = '' } }) {
        const { userId } = requireAccount(call);
        await db.transaction(async (tx) => {
          if (!(await endSignIn(tx, { userId, id, now: call.now }))) throw notFound(`session "${id}"`);
          await audit.record(toEntry(call, 'sessions.end', id), tx);
        });
      },
    }),
    route({
      ...common,
      id: 'sessions.clear',
      method: 'DELETE',
      summary: 'Sign every other browser and command line of one’s out',
      answer: z.object({ ended: z.int().min(0) }),
      async handle(call) {
        const { userId, credentialId: keep } = requireAccount(call);
        return db.transaction(async (tx) => {
          const ended = await endOtherSignIns(tx, { userId, keep, now: call.now });
          if (ended > 0) await audit.record(toEntry(call, 'sessions.clear', `${ended} others`), tx);
          return { ended };
        });
      },
    }),
  ];
}

// --- internal ---

const SessionAnswer = z.object({
  id: z.string(),
  kind: z.enum(['browser', 'cli']),
  name: z.string().nullable().describe('Of the browser, or of the machine.'),
  address: z.string().nullable().describe('Where it was signed in from.'),
  createdAt: z.iso.datetime(),
  seenAt: z.iso.datetime().describe('When it was used last, to the minute; of a command line, when it was renewed.'),
  expiresAt: z.iso.datetime(),
  isCurrent: z.boolean().describe('Whether it is the one that makes this request.'),
});

function toAnswer({ createdAt, seenAt, expiresAt, ...one }: SignedInAt, current: string) {
  const toText = (time: number) => new Date(time).toISOString();
  return {
    ...one,
    createdAt: toText(createdAt),
    seenAt: toText(seenAt),
    expiresAt: toText(expiresAt),
    isCurrent: one.id === current,
  };
}

function toEntry(call: Call, action: string, target: string) {
  return entryOf(call, { organizationId: call.account().organizationId, action, target });
}
