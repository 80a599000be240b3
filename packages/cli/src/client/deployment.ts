import { CliError } from '../errors.ts';
import type { ControlPlane, Target } from './control-plane.ts';
import type { Context } from '../context.ts';

/** The deployed box of an installation. Throws `no_deployment`, `not_signed_in`, `session_expired` or `not_linked`. */
export async function findDeployment(
  installationId: string,
  { root, ...context }: Partial<Context> & Pick<Context, 'env'> & { root?: string | undefined },
  open?: (url: string) => ControlPlane,
): Promise<Target> {
  const { findEndpoint } = await import('../account/endpoint.ts');
  const url = findEndpoint({ env: context.env, root });
  if (!url) throw notConfigured(installationId);
  const session = await (open ?? (await openKept(context)))(url).findSession();
  if (!session)
    throw new CliError('not_signed_in', `You are not signed in to ${url}.`, {
      suggestion:
        'Run `svc login`, or name the box with --url and its token in SVC_API_TOKEN, or leave --agent out to use the dev runtime.',
    });
  const box = await session.findBox(installationId);
  if (!box) throw new CliError('not_linked', `No box "${installationId}" is linked at ${url}.`);
  return box;
}

// --- internal ---

/** Control planes with the sessions kept on this machine. */
async function openKept(context: Partial<Context>) {
  const { env = {}, signal = new AbortController().signal, trace = () => {}, say = () => {} } = context;
  const { openPlane } = await import('../account/session.ts');
  return (url: string): ControlPlane => openPlane(url, { env, signal, trace, say });
}

function notConfigured(installationId: string): CliError {
  return new CliError(
    'no_deployment',
    `There is no registered deployment "${installationId}": no control plane is configured.`,
    {
      suggestion:
        'Set SVC_CONTROL_PLANE_URL to your control plane, name the box with --url, or leave --agent out to use the dev runtime.',
    },
  );
}
