import { isShortForm } from './request.ts';
import { lookUp } from './template.ts';
import { hmac, isSame, isTimely } from './signature.ts';
import type { Comparing, SchemeName, Signature, SignedRequest } from './signature.ts';

/** How one kind of sender signs, and what it says of what it sends. */
export interface Scheme {
  /** Members of the signature's settings it needs, and those it may have. */
  needs?: readonly (keyof Signature)[];
  may?: readonly (keyof Signature)[];
  /** Headers that are for this comparison alone. */
  credentials(signature: Signature): readonly (string | undefined)[];
  isGood(request: SignedRequest, how: Comparing): boolean;
  /** What the sender calls this delivery, the same however often it is sent. */
  idOf?(headers: Headers, body: unknown): unknown;
  /** What has happened, in the words of the sender. */
  eventOf?(headers: Headers, body: unknown): unknown;
  /** What a sender wants to hear before it sends anything. Undefined: it has sent something. */
  greet?(body: unknown): object | undefined;
}

/** The one of each name. */
export const SCHEMES: Record<SchemeName, Scheme> = {
  'standard-webhooks': {
    may: ['windowSeconds'],
    credentials: () => ['webhook-signature', 'svix-signature'],
    isGood({ headers, body }, how) {
      const [id, time, given] = ['id', 'timestamp', 'signature'].map(
        (name) => headers.get(`webhook-${name}`) ?? headers.get(`svix-${name}`) ?? '',
      ) as [string, string, string];
      const key = Buffer.from(how.secret.replace(/^whsec_/, ''), 'base64');
      const wanted = `v1,${hmac(key, [`${id}.${time}.`, body], { encoding: 'base64' })}`;
      return (
        id !== '' &&
        isTimely(time, how) &&
        given
          .split(' ')
          .slice(0, MOST_SIGNATURES)
          .some((one) => isSame(one, wanted))
      );
    },
    idOf: (headers) => headers.get('webhook-id') ?? headers.get('svix-id'),
    eventOf: (_, body) => lookUp(body, ['type']),
  },
  github: {
    credentials: () => ['x-hub-signature-256', 'x-hub-signature'],
    isGood: ({ headers, body }, { secret }) =>
      isSame(headers.get('x-hub-signature-256') ?? '', `sha256=${hmac(secret, [body])}`),
    idOf: (headers) => headers.get('x-github-delivery'),
    eventOf: (headers, body) => join(headers.get('x-github-event'), lookUp(body, ['action'])),
  },
  stripe: {
    may: ['windowSeconds'],
    credentials: () => ['stripe-signature'],
    isGood({ headers, body }, how) {
      const parts = (headers.get('stripe-signature') ?? '').split(',').slice(0, MOST_SIGNATURES);
      const listed = (name: string) =>
        parts.flatMap((part) => (part.trim().startsWith(`${name}=`) ? part.trim().slice(name.length + 1) : []));
      const [time = ''] = listed('t');
      const wanted = hmac(how.secret, [`${time}.`, body]);
      return isTimely(time, how) && listed('v1').some((one) => isSame(one, wanted));
    },
    idOf: (_, body) => lookUp(body, ['id']),
    eventOf: (_, body) => lookUp(body, ['type']),
  },
  slack: {
    may: ['windowSeconds'],
    credentials: () => ['x-slack-signature'],
    isGood({ headers, body }, how) {
      const time = headers.get('x-slack-request-timestamp') ?? '';
      const wanted = `v0=${hmac(how.secret, [`v0:${time}:`, body])}`;
      return isTimely(time, how) && isSame(headers.get('x-slack-signature') ?? '', wanted);
    },
    idOf: (_, body) => lookUp(body, ['event_id']),
    eventOf: (_, body) => lookUp(body, ['event', 'type']) ?? lookUp(body, ['type']) ?? lookUp(body, ['command']),
    greet(body) {
      if (lookUp(body, ['type']) !== 'url_verification') return undefined;
      const challenge = lookUp(body, ['challenge']);
      return typeof challenge === 'string' ? { challenge } : undefined;
    },
  },
  shopify: {
    credentials: () => ['x-shopify-hmac-sha256'],
    isGood: ({ headers, body }, { secret }) =>
      isSame(headers.get('x-shopify-hmac-sha256') ?? '', hmac(secret, [body], { encoding: 'base64' })),
    idOf: (headers) => headers.get('x-shopify-webhook-id'),
    eventOf: (headers) => headers.get('x-shopify-topic'),
  },
  gitlab: {
    credentials: () => ['x-gitlab-token'],
    isGood: ({ headers }, { secret }) => isSame(headers.get('x-gitlab-token') ?? '', secret),
    idOf: (headers) => headers.get('idempotency-key'),
    eventOf: (_, body) => lookUp(body, ['event_type']) ?? lookUp(body, ['object_kind']),
  },
  linear: {
    may: ['windowSeconds'],
    credentials: () => ['linear-signature'],
    isGood({ headers, body }, how) {
      if (!isSame(headers.get('linear-signature') ?? '', hmac(how.secret, [body]))) return false;
      return isTimely(String(lookUp(parse(body), ['webhookTimestamp'])), how);
    },
    idOf: (headers) => headers.get('linear-delivery'),
    eventOf: (headers, body) => join(headers.get('linear-event') ?? lookUp(body, ['type']), lookUp(body, ['action'])),
  },
  twilio: {
    credentials: () => ['x-twilio-signature'],
    isGood({ headers, body, url }, { secret }) {
      if (!isShortForm(body)) return false;
      const fields = [...new URLSearchParams(body.toString('utf8'))].toSorted(([a], [b]) =>
        a < b ? -1 : a > b ? 1 : 0,
      );
      const wanted = hmac(secret, [url, ...fields.flat()], { algorithm: 'sha1', encoding: 'base64' });
      return isSame(headers.get('x-twilio-signature') ?? '', wanted);
    },
    idOf: (headers, body) => headers.get('i-twilio-idempotency-token') ?? lookUp(body, ['MessageSid']),
    eventOf: (_, body) => lookUp(body, ['SmsStatus']) ?? lookUp(body, ['CallStatus']),
  },
  hmac: {
    needs: ['header'],
    may: ['algorithm', 'encoding', 'prefix', 'timestampHeader', 'windowSeconds'],
    credentials: ({ header }) => [header],
    isGood({ headers, body }, how) {
      const { header = '', prefix = '', timestampHeader, algorithm = 'sha256', encoding = 'hex' } = how.signature;
      const time = timestampHeader === undefined ? undefined : (headers.get(timestampHeader) ?? '');
      const wanted = hmac(how.secret, time === undefined ? [body] : [`${time}.`, body], { algorithm, encoding });
      const given = headers.get(header) ?? '';
      return (time === undefined || isTimely(time, how)) && isSame(given, prefix + wanted);
    },
  },
  token: {
    needs: ['header'],
    may: ['prefix'],
    credentials: ({ header }) => [header],
    isGood: ({ headers }, { secret, signature: { header = '', prefix = '' } }) =>
      isSame(headers.get(header) ?? '', prefix + secret),
  },
  basic: {
    needs: ['username'],
    credentials: () => ['authorization'],
    isGood({ headers }, { secret, signature: { username = '' } }) {
      const [kind = '', given = ''] = (headers.get('authorization') ?? '').split(' ');
      const wanted = `${username}:${secret}`;
      return isSame(Buffer.from(given, 'base64').toString('utf8'), wanted) && kind.toLowerCase() === 'basic';
    },
  },
};

// --- internal ---

const MOST_SIGNATURES = 20;

/** What has happened, and to it: "issues.opened". */
function join(what: unknown, action: unknown): unknown {
  return typeof what === 'string' && typeof action === 'string' ? `${what}.${action}` : what;
}

/** Looked at before its signature is known to be good only where that is known already. */
function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
}
