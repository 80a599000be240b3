import { cookieName, formatCookie, readCookie } from '../http/cookies.ts';
import type { Call } from '../http/route.ts';
import { PlaneError } from '../errors.ts';
import type { Sealer } from '../sealer.ts';
import type { Checks } from './oidc.ts';

/** Someone on the way to the provider and back, kept in a sealed cookie of the browser that has begun. */
export interface Flow {
  checks: Checks;
  /** A path of ours. */
  returnTo: string;
  /** The session of which the account is to be linked. Undefined: it is a sign-in. */
  linksSession: string | undefined;
  expiresAt: number;
}

export interface Flows {
  keep(call: Call, flow: Omit<Flow, 'expiresAt'>): void;
  /** That of the request's browser, which ends with this. */
  take(call: Call): Flow | undefined;
}

export function createFlows({ sealer, publicUrl }: { sealer: Sealer; publicUrl(): string }): Flows {
  const isSecure = () => publicUrl().startsWith('https:');
  const setCookie = (call: Call, value: string, maxAge: number) =>
    call.setHeader('set-cookie', formatCookie(value, { isSecure: isSecure(), maxAge, base: 'svc_oidc' }));
  return {
    keep(call, flow) {
      const text = JSON.stringify({ ...flow, expiresAt: call.now + LIFETIME } satisfies Flow);
      setCookie(call, Buffer.from(sealer.seal(...PLACE, text)).toString('base64url'), LIFETIME / 1_000);
    },
    take(call) {
      const value = readCookie(call.request.headers, cookieName(isSecure(), 'svc_oidc'));
      if (value === undefined) return undefined;
      setCookie(call, '', 0);
      try {
        const sealed = Buffer.from(value, 'base64url').toString();
        const flow = JSON.parse(sealer.open(...PLACE, sealed)) as Flow;
        return flow.expiresAt > call.now ? flow : undefined;
      } catch {
        // Another key, or nothing that we have sealed.
        return undefined;
      }
    },
  };
}

/** Throws `invalid_request` for what is no path of ours, as a browser would read it. */
export function parseReturnTo(given: string | undefined, publicUrl: string): string {
  if (given === undefined) return '/';
  const url = URL.canParse(given, publicUrl) ? new URL(given, publicUrl) : undefined;
  const isPath = /^\/(?![/\\])[^\\\p{Cc}]*$/u.test(given);
  if (isPath && url?.origin === new URL(publicUrl).origin && !url.pathname.startsWith('//'))
    return `${url.pathname}${url.search}${url.hash}`;
  throw new PlaneError(
    'invalid_request',
    'The parameter "returnTo" is no path of this control plane, such as "/device".',
  );
}

// --- internal ---

const LIFETIME = 600_000;
const PLACE = ['cookies', 'svc_oidc'] as const;
