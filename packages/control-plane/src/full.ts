import { createAudit } from './audit/audit.ts';
import { auditRoutes } from './audit/routes.ts';
import { peopleDashboard } from './dashboard/routes.ts';
import { deploymentRoutes } from './deployments/routes.ts';
import { PlaneError } from './errors.ts';
import { createKeyStore } from './identity/key-store.ts';
import { identityRoutes } from './identity/routes.ts';
import { createSigner } from './identity/signer.ts';
import type { FullGround, Rooms } from './ground.ts';
import { installationRoutes } from './installations/routes.ts';
import { inviteRoutes } from './invites/routes.ts';
import { createOidc } from './oidc/oidc.ts';
import { oidcRoutes } from './oidc/routes.ts';
import { createDeviceCodes } from './oauth/device-codes.ts';
import { deviceRoutes } from './oauth/device-routes.ts';
import { createFamilies } from './oauth/families.ts';
import { oauthRoutes } from './oauth/routes.ts';
import { createAccess } from './organizations/access.ts';
import { organizationRoutes } from './organizations/routes.ts';
import { createPasswords } from './passwords/passwords.ts';
import { peopleRoutes } from './people/routes.ts';
import { createSignIn } from './people/sign-in.ts';
import { createAuthenticate } from './sessions/authenticate.ts';
import { sessionRoutes } from './sessions/routes.ts';
import { createSessions } from './sessions/sessions.ts';
import { countStatements } from './store/count.ts';
import { createSweep } from './sweep.ts';
import { tokenRoutes } from './tokens/routes.ts';
import { createPlaneRelay, cutAfterWrites, tunnelRoutes } from './tunnel/routes.ts';

/** People, organisations, installations, tokens. */
export async function createFull(given: FullGround): Promise<Rooms> {
  const { db, count } = countStatements(given.db, ({ isTaking }) => isTaking === true);
  const ground = { ...given, db };
  const audit = createAudit(ground);
  const access = createAccess(ground);
  const sessions = createSessions(ground);
  const passwords = createPasswords(ground);
  const signIn = createSignIn({ ...ground, audit, sessions, passwords });
  const families = createFamilies({ ...ground, audit });
  const deviceCodes = createDeviceCodes({ ...ground, families });
  const signer = createSigner({ ...ground, keys: createKeyStore(ground) });
  // At the start, so that a box that asks has them, and what is due is done although no token is asked for.
  await signer.listPublic();
  const sweep = createSweep(ground);
  const oidc = createOidc(ground);
  const relay = createPlaneRelay(ground);
  const authenticate = createAuthenticate({ ...ground, sessions, accessTokens: families });
  const rooms = { ...ground, audit, access, sessions, signIn, oidc, signer, families, deviceCodes, relay };
  const routes = [
    ...peopleRoutes(rooms),
    ...sessionRoutes(rooms),
    ...organizationRoutes(rooms),
    ...inviteRoutes(rooms),
    ...auditRoutes(rooms),
    ...installationRoutes(rooms),
    ...tokenRoutes(rooms),
    ...tunnelRoutes(rooms),
    ...(oidc ? oidcRoutes({ ...rooms, oidc }) : []),
    ...identityRoutes(rooms),
    ...oauthRoutes(rooms),
    ...deviceRoutes(rooms),
    ...deploymentRoutes(rooms),
  ];
  return {
    routes: cutAfterWrites(routes, relay, count),
    raw: peopleDashboard({ ...rooms, authenticate }),
    authenticate,
    requireOperator: async () => {
      throw new PlaneError('unauthorized', 'There is no operator here.');
    },
    divert: relay.handle,
    upgrade: relay.attach,
    async close() {
      await relay.close();
      await sweep.close();
    },
  };
}
