import type { OperationOutput } from '@svc/runtime/client';
import { Badge } from '../../ui/badge.tsx';
import type { Tone } from '../../ui/badge.tsx';
import { Link } from '../../ui/link.tsx';

export type Trigger = OperationOutput<'triggers.list'>['items'][number];
export type Delivery = OperationOutput<'triggers.get'>['deliveries'][number];
export type Scheme = Trigger['signature']['scheme'];

export const SCHEMES: readonly (readonly [scheme: Scheme, label: string])[] = [
  ['standard-webhooks', 'Standard Webhooks'],
  ['github', 'GitHub'],
  ['stripe', 'Stripe'],
  ['slack', 'Slack'],
  ['shopify', 'Shopify'],
  ['gitlab', 'GitLab'],
  ['linear', 'Linear'],
  ['twilio', 'Twilio'],
  ['hmac', 'Another that signs its calls (HMAC)'],
  ['token', 'Another that sends a token'],
  ['basic', 'Another that sends a username and a password'],
];

const STATES: Record<Trigger['state'], readonly [tone: Tone, title: string]> = {
  ready: ['good', 'ready'],
  needs_secret: ['warn', 'needs a secret'],
  disabled: ['neutral', 'disabled'],
};

export function TriggerState({ state }: { state: Trigger['state'] }) {
  const [tone, title] = STATES[state];
  return <Badge tone={tone}>{title}</Badge>;
}

const DELIVERY_TONES: Record<Delivery['state'], Tone> = {
  pending: 'accent',
  delivered: 'good',
  filtered: 'neutral',
  failed: 'warn',
  dead: 'bad',
};

export function DeliveryState({ state }: { state: Delivery['state'] }) {
  return <Badge tone={DELIVERY_TONES[state]}>{state}</Badge>;
}

export function Target({ of }: { of: Trigger['target'] }) {
  if ('workflow' in of)
    return (
      <Link to={`/workflows/${encodeURIComponent(of.workflow)}`}>
        <bdi className="wrap-anywhere">{of.workflow}</bdi>
      </Link>
    );
  return (
    <Link to="/catalog" search={{ open: `agent/${of.agent}` }}>
      <bdi className="wrap-anywhere">{of.agent}</bdi>
    </Link>
  );
}
