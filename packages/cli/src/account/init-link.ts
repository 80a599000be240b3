import type { Created } from '../../../create/src/create.ts';
import { CliError } from '../errors.ts';
import type { Context } from '../context.ts';
import { createLink } from './dev-link.ts';
import { findOptionalEndpoint } from './endpoint.ts';
import { needSession } from './session.ts';

export interface InitLink {
  /** Makes the new workspace an agent of the organization. */
  make(created: Created): Promise<void>;
  /** Of that agent, once it is made. */
  installationId(): string | undefined;
}

/** Undefined: no control plane is configured. Throws `not_signed_in` before anything is written. */
export function prepareLink(context: Context): InitLink | undefined {
  const endpoint = findOptionalEndpoint({ env: context.env }, context.say);
  if (endpoint === undefined) return undefined;
  const session = needSession(endpoint, context);
  let installationId: string | undefined;
  return {
    installationId: () => installationId,
    async make({ dir, name }) {
      const link = await createLink(session, dir, name).catch((error: unknown) => {
        throw withPlace(error, dir);
      });
      installationId = link.installationId;
    },
  };
}

// --- internal ---

/** The workspace is there; what is missing can be made up for. */
function withPlace(error: unknown, dir: string): unknown {
  if (!(error instanceof CliError)) return error;
  const { code, message, details, exitCode } = error;
  return new CliError(code, `The workspace is complete in "${dir}", but is not linked: ${message}`, {
    details,
    exitCode,
    suggestion: 'Install its packages and run `svc dev` there in a terminal: it links the workspace.',
  });
}
