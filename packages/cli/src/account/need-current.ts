import { findProject } from '../client/target.ts';
import type { Context } from '../context.ts';
import { findEndpoint } from './endpoint.ts';
import { needSession, noPlane } from './session.ts';
import type { SignedIn } from './session.ts';

/** The session at the control plane that is meant without another word. Throws `not_signed_in`. */
export function needCurrentSession(context: Context): SignedIn {
  const endpoint = findEndpoint({ env: context.env, root: findProject(context.cwd) });
  if (endpoint === undefined) throw noPlane();
  return needSession(endpoint, context);
}
