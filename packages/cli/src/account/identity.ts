import { CliError } from '../errors.ts';
import { object, string } from '../payload/payload.ts';
import type { TypeOf } from '../payload/payload.ts';
import type { SignedIn } from './session.ts';

/** Who is signed in. */
export const IDENTITY = object({
  user: string('The e-mail address, or the name.'),
  userId: string('The id of the user.'),
  organization: string('The organization the session is for; empty where the control plane names none.'),
  endpoint: string('The address of the control plane.'),
});
export type Identity = TypeOf<typeof IDENTITY>;

/** Asks the control plane whose session this is. */
export async function readIdentity({ endpoint, request }: SignedIn): Promise<Identity> {
  const { user, organization } = await request<Me>({ method: 'GET', path: '/api/v1/me' });
  const shown = user?.email ?? user?.name;
  if (!shown || !user?.id)
    throw new CliError('control_plane_unavailable', `${endpoint} does not say who is signed in.`, {
      suggestion: 'Check that the address is that of a control plane.',
    });
  return { user: shown, userId: user.id, organization: organization?.slug ?? organization?.name ?? '', endpoint };
}

// --- internal ---

interface Me {
  user?: { id?: string; email?: string; name?: string };
  organization?: { slug?: string; name?: string };
}
