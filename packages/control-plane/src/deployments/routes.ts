import { z } from 'zod';
import { entryOf } from '../audit/audit.ts';
import type { Audit } from '../audit/audit.ts';
import { notFound } from '../errors.ts';
import { route } from '../http/route.ts';
import type { Call, Route } from '../http/route.ts';
import { findInstallation } from '../installations/installations.ts';
import type { Installation } from '../installations/installations.ts';
import { InstallationAnswer, requireInstallation, toAnswer } from '../installations/routes.ts';
import type { Access } from '../organizations/access.ts';
import type { Db } from '../store/db.ts';
import { sql } from '../store/sql.ts';
import { createThrottle } from '../throttle/throttle.ts';
import { createBoxClient } from './box-client.ts';
import { challengeBox } from './challenge.ts';

export interface DeploymentRoutes {
  db: Db;
  now(): number;
  access: Access;
  audit: Audit;
  full: { allowPrivate: boolean };
}

/** Which box an installation is. */
export function deploymentRoutes({ db, now, access, audit, full }: DeploymentRoutes): Route[] {
  // What is refused, and how long it took, says whether something answers at an address, so it is rate limited.
  const refused = createThrottle({ db, now, kind: 'link', most: MOST_REFUSED, message: 'Too many refused boxes.' });
  return [
    route({
      id: 'deployments.register',
      method: 'POST',
      path: '/api/v1/installations/:id/deployments',
      summary: 'Register the box of an installation, in the place of the one it had',
      tag: 'installations',
      access: 'person',
      body: Registration,
      answer: InstallationAnswer,
      errors: [
        'forbidden',
        'not_found',
        'invalid_signature',
        'installation_mismatch',
        'box_unreachable',
        'address_private',
        'rate_limited',
      ],
      async handle(call, { params: { id = '' }, body }) {
        const account = call.account();
        const { url, hmacSecret, imageTag } = body;
        await requireInstallation({ db, access }, account, id, 'installations:write');
        await refused.require([account.userId]);
        const succeed = await refused.begin([account.userId]);
        const box = createBoxClient(url, full);
        const challenge = { url, hmacSecret, installationId: id, now: now() };
        const contract = await challengeBox(box, challenge).finally(() => box.close());
        await succeed();
        // It took its time: the role may have been taken away meanwhile.
        await requireInstallation({ db, access }, account, id, 'installations:write');
        const registered = await db.transaction(async (tx) => {
          const found = await findInstallation(tx, id);
          if (!found) return undefined;
          await tx.run(
            sql`insert into plane_deployments (installation_id, url, image_tag, contract, registered_at, registered_by)
              values (${id}, ${url}, ${imageTag}, ${contract}, ${now()}, ${account.userId})
              on conflict (installation_id) do update set url = excluded.url, image_tag = excluded.image_tag,
                contract = excluded.contract, registered_at = excluded.registered_at,
                registered_by = excluded.registered_by`,
          );
          await audit.record(toEntry(call, found, `${url} ${imageTag}`), tx);
          return findInstallation(tx, id);
        });
        if (!registered) throw notFound(`installation "${id}"`);
        return toAnswer(registered);
      },
    }),
  ];
}

// --- internal ---

/** Of a person in a minute. */
const MOST_REFUSED = 10;

const Registration = z.strictObject({
  url: z
    .string()
    .max(2_048)
    .transform((text, context) => {
      const address = parseAddress(text);
      if (address !== undefined) return address;
      context.addIssue({ code: 'custom', message: 'Send scheme, host and port, as in https://box.example.com' });
      return z.NEVER;
    })
    .describe('Where the box answers: scheme, host and port.'),
  hmacSecret: z
    .string()
    .min(1)
    .max(1_024)
    .describe('Its HMAC_SECRET, for this once: it is neither sent to the box nor kept.'),
  imageTag: z
    .string()
    .max(512)
    .regex(/^[\w][\w.:/@+-]*$/, 'Send the name of an image, as in shop:12')
    .describe('The tag of the image it runs.'),
});

/** As it is kept: without a slash at the end. */
function parseAddress(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isPlain = url && /^https?:$/.test(url.protocol) && !url.search && !url.hash && !url.username && !url.password;
  return isPlain && url.pathname === '/' && url.hostname !== '' ? url.origin : undefined;
}

function toEntry(call: Call, { organizationId, id, name }: Installation, what: string) {
  return entryOf(call, { organizationId, action: 'installations.link', target: `${name} (${id}): ${what}` });
}
