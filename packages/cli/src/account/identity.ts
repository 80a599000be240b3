import { CliError } from '../errors.ts';
import type { SignedIn } from './session.ts';

/** Who is signed in. */
export interface Identity {
  user: string;
  userId: string;
  organization: string;
  endpoint: string;
}

export const IDENTITY_PAYLOAD = {
  user: 'The e-mail address, or the name.',
  userId: 'The id of the user.',
  organization: 'The organization the session is for.',
  endpoint: 'The control plane.',
};

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
