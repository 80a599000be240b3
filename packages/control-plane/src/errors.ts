/** Every code the control plane answers with beyond those of HTTP itself, and its status. A shipped code never changes. */
export const ERROR_STATUS = {
  invalid_request: 400,
  unauthorized: 401,
  wrong_credentials: 401,
  sign_in_failed: 401,
  email_unverified: 403,
  account_exists: 409,
  forbidden: 403,
  origin_not_allowed: 403,
  no_organization: 403,
  not_found: 404,
  code_unknown: 404,
  method_not_allowed: 405,
  conflict: 409,
  last_owner: 409,
  tunnel_replaced: 409,
  already_member: 409,
  limit_reached: 409,
  signup_closed: 403,
  invite_invalid: 410,
  tunnel_expired: 410,
  tunnel_revoked: 410,
  uri_too_long: 414,
  invalid_signature: 422,
  installation_mismatch: 422,
  box_unreachable: 422,
  address_private: 422,
  // As OAuth names them, answered by its routes alone.
  authorization_pending: 400,
  slow_down: 400,
  expired_token: 400,
  access_denied: 400,
  invalid_grant: 400,
  unsupported_grant_type: 400,
  invalid_client: 401,
  rate_limited: 429,
  internal: 500,
  runtime_unreachable: 502,
  provider_unavailable: 502,
  tunnel_closed: 502,
  tunnel_elsewhere: 502,
  tunnel_busy: 503,
  tunnel_unavailable: 503,
  store_unavailable: 503,
  // Found at the start, and printed. The second is answered, too, by one beside which a later version is rolled out.
  environment_invalid: 503,
  database_newer: 503,
  database_older: 503,
  secret_key_wrong: 503,
} as const;

export type ErrorCode = keyof typeof ERROR_STATUS;

export interface PlaneErrorOptions {
  details?: Record<string, unknown>;
  headers?: Record<string, string>;
  cause?: unknown;
}

/** The one error of the control plane. Whatever else is thrown is a bug: the caller gets a bare 500, the log the whole thing. */
export class PlaneError extends Error {
  override readonly name = 'PlaneError';
  readonly code: ErrorCode;
  readonly details: Record<string, unknown> | undefined;
  readonly headers: Record<string, string>;

  constructor(code: ErrorCode, message: string, options: PlaneErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.details = options.details;
    this.headers = options.headers ?? {};
  }

  get status(): number {
    return ERROR_STATUS[this.code];
  }
}

export function notFound(what: string): PlaneError {
  return new PlaneError('not_found', `There is no ${what}.`);
}

/** `retryAfter`: seconds. */
export function rateLimited(message: string, retryAfter: number): PlaneError {
  const seconds = Math.max(1, Math.ceil(retryAfter));
  return new PlaneError('rate_limited', `${message} Try again in ${seconds} s.`, {
    details: { retryAfter: seconds },
    headers: { 'retry-after': String(seconds) },
  });
}
