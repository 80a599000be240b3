import { createHmac, randomUUID } from 'node:crypto';

/** A request as a sender makes it, by the rule it publishes. */
export interface Sent {
  headers: Record<string, string>;
  body: string;
}

interface Sender {
  signature: Record<string, unknown>;
  secret: string;
  /** `at`: milliseconds since 1970. `id`: where the sender says which delivery it is. */
  sign(body: object, how: { at: number; id: string; secret: string }): Sent;
  /** What it says has happened, of the body `{ action: 'opened', type: 'invoice.paid' … }`. */
  event: string | null;
  hasTime: boolean;
}

const sign = (secret: string | Buffer, text: string, algorithm = 'sha256', encoding: 'hex' | 'base64' = 'hex') =>
  createHmac(algorithm, secret).update(text).digest(encoding);
const JSON_TYPE = { 'content-type': 'application/json' };
const seconds = (at: number) => String(Math.floor(at / 1_000));

export const SENDERS: Record<string, Sender> = {
  'standard-webhooks': {
    signature: { scheme: 'standard-webhooks' },
    secret: `whsec_${Buffer.alloc(24, 5).toString('base64')}`,
    sign(content, { at, id, secret }) {
      const body = JSON.stringify(content);
      const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
      const value = sign(key, `${id}.${seconds(at)}.${body}`, 'sha256', 'base64');
      const headers = {
        'webhook-id': id,
        'webhook-timestamp': seconds(at),
        'webhook-signature': `v1,wrong v1,${value}`,
      };
      return { headers: { ...JSON_TYPE, ...headers }, body };
    },
    event: 'invoice.paid',
    hasTime: true,
  },
  github: {
    signature: { scheme: 'github' },
    secret: 'a secret of a repository',
    sign(content, { id, secret }) {
      const body = JSON.stringify(content);
      const headers = { 'x-github-event': 'issues', 'x-github-delivery': id };
      return { headers: { ...JSON_TYPE, ...headers, 'x-hub-signature-256': `sha256=${sign(secret, body)}` }, body };
    },
    event: 'issues.opened',
    hasTime: false,
  },
  stripe: {
    signature: { scheme: 'stripe' },
    secret: 'whsec_of_an_endpoint',
    sign(content, { at, id, secret }) {
      const body = JSON.stringify({ ...content, id });
      const value = sign(secret, `${seconds(at)}.${body}`);
      return { headers: { ...JSON_TYPE, 'stripe-signature': `t=${seconds(at)},v0=old,v1=${value}` }, body };
    },
    event: 'invoice.paid',
    hasTime: true,
  },
  slack: {
    signature: { scheme: 'slack' },
    secret: 'the signing secret of an app',
    sign(content, { at, id, secret }) {
      const body = JSON.stringify({ ...content, type: 'event_callback', event_id: id, event: { type: 'message' } });
      const value = `v0=${sign(secret, `v0:${seconds(at)}:${body}`)}`;
      const headers = { 'x-slack-request-timestamp': seconds(at), 'x-slack-signature': value };
      return { headers: { ...JSON_TYPE, ...headers }, body };
    },
    event: 'message',
    hasTime: true,
  },
  shopify: {
    signature: { scheme: 'shopify' },
    secret: 'the client secret of an app',
    sign(content, { id, secret }) {
      const body = JSON.stringify(content);
      const value = sign(secret, body, 'sha256', 'base64');
      const headers = {
        'x-shopify-topic': 'orders/create',
        'x-shopify-webhook-id': id,
        'x-shopify-hmac-sha256': value,
      };
      return { headers: { ...JSON_TYPE, ...headers }, body };
    },
    event: 'orders/create',
    hasTime: false,
  },
  gitlab: {
    signature: { scheme: 'gitlab' },
    secret: 'a-token-of-gitlab',
    sign(content, { id, secret }) {
      const headers = { 'x-gitlab-token': secret, 'x-gitlab-event': 'Push Hook', 'idempotency-key': id };
      return { headers: { ...JSON_TYPE, ...headers }, body: JSON.stringify({ ...content, object_kind: 'push' }) };
    },
    event: 'push',
    hasTime: false,
  },
  linear: {
    signature: { scheme: 'linear' },
    secret: 'lin_wh_of_a_team',
    sign(content, { at, id, secret }) {
      const body = JSON.stringify({ ...content, action: 'create', type: 'Issue', webhookTimestamp: at });
      const headers = { 'linear-delivery': id, 'linear-event': 'Issue', 'linear-signature': sign(secret, body) };
      return { headers: { ...JSON_TYPE, ...headers }, body };
    },
    event: 'Issue.create',
    hasTime: true,
  },
  hmac: {
    signature: {
      scheme: 'hmac',
      header: 'X-Sum',
      algorithm: 'sha512',
      encoding: 'base64',
      prefix: 'v2 ',
      timestampHeader: 'X-Time',
    },
    secret: 'of a service of our own',
    sign(content, { at, secret }) {
      const body = JSON.stringify({ ...content, odd: randomUUID() });
      const value = sign(secret, `${at}.${body}`, 'sha512', 'base64');
      return { headers: { ...JSON_TYPE, 'x-time': String(at), 'x-sum': `v2 ${value}` }, body };
    },
    event: null,
    hasTime: true,
  },
  token: {
    signature: { scheme: 'token', header: 'x-token', prefix: 'Token ' },
    secret: 'shared between two',
    sign: (content, { secret }) => ({
      headers: { ...JSON_TYPE, 'x-token': `Token ${secret}` },
      body: JSON.stringify({ ...content, odd: randomUUID() }),
    }),
    event: null,
    hasTime: false,
  },
  basic: {
    signature: { scheme: 'basic', username: 'sender' },
    secret: 'pass:word 1',
    sign: (content, { secret }) => ({
      headers: { ...JSON_TYPE, authorization: `Basic ${Buffer.from(`sender:${secret}`).toString('base64')}` },
      body: JSON.stringify({ ...content, odd: randomUUID() }),
    }),
    event: null,
    hasTime: false,
  },
};
