import { ERROR_STATUS } from '../errors.ts';
import type { ErrorCode } from '../errors.ts';
import type { ErrorFamily } from '../http/route-doc.ts';

/** Codes that any route may answer. */
export const COMMON_ERRORS: readonly ErrorCode[] = [
  'host_not_allowed',
  'uri_too_long',
  'internal',
  'store_unavailable',
];

/** Codes of routes that need a credential. */
export const CALLER_ERRORS: readonly ErrorCode[] = [
  'unauthorized',
  'forbidden',
  'users_not_granted',
  'identity_keys_unavailable',
];

/** Codes of routes that read a JSON body. */
export const BODY_ERRORS: readonly ErrorCode[] = [
  'invalid_json',
  'invalid_request',
  'payload_too_large',
  'unsupported_media_type',
  'overloaded',
];

/** The responses that refuse, by status. The codes are named: the status alone does not distinguish them. */
export function toErrorResponses(codes: readonly ErrorCode[], family: ErrorFamily): Record<string, object> {
  const statuses = [...new Set(codes.map((code) => ERROR_STATUS[code]))].sort((a, b) => a - b);
  return Object.fromEntries(
    statuses.map((status) => {
      const own = [...new Set(codes.filter((code) => ERROR_STATUS[code] === status))].sort();
      return [String(status), toErrorResponse(own, family)];
    }),
  );
}

// --- internal ---

/** Names of `COMPONENTS`. */
const ERROR_SCHEMAS: Record<ErrorFamily, string> = {
  box: 'Error',
  'wire-a': 'WireAError',
  'wire-b': 'WireBError',
  'json-rpc': 'JsonRpcError',
};

function toErrorResponse(codes: ErrorCode[], family: ErrorFamily): object {
  const $ref = `#/components/schemas/${ERROR_SCHEMAS[family]}`;
  const schema =
    family === 'box' ? { allOf: [{ $ref }, { properties: { code: { type: 'string', enum: codes } } }] } : { $ref };
  return {
    description: codes.map((code) => `\`${code}\``).join(', '),
    content: { 'application/json': { schema } },
    'x-svc-codes': codes,
  };
}
