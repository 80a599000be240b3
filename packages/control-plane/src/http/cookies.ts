/** `svc_session` keeps a person, or the operator, signed in; `svc_oidc` is of someone on the way to a provider and back. */
export type CookieBase = 'svc_session' | 'svc_oidc';

/** `isSecure`: the public address is https. */
export function cookieName(isSecure: boolean, base: CookieBase = 'svc_session'): string {
  return isSecure ? `__Host-${base}` : base;
}

/** The value of a cookie of a request; of several with its name, which no browser of ours sends, none. */
export function readCookie(headers: Headers, name: string): string | undefined {
  const values = (headers.get('cookie') ?? '').split(';').flatMap((pair) => {
    const at = pair.indexOf('=');
    return pair.slice(0, at).trim() === name ? [pair.slice(at + 1).trim()] : [];
  });
  return values.length === 1 ? values[0] : undefined;
}

export interface CookieOptions {
  isSecure: boolean;
  /** Seconds; 0 removes it. */
  maxAge: number;
  base?: CookieBase;
}

/** A `Set-Cookie` that no script reads and no other site's form sends. */
export function formatCookie(value: string, { isSecure, maxAge, base }: CookieOptions): string {
  return [
    `${cookieName(isSecure, base)}=${value}`,
    'Path=/',
    'HttpOnly',
    'SameSite=Lax',
    `Max-Age=${maxAge}`,
    ...(isSecure ? ['Secure'] : []),
  ].join('; ');
}
