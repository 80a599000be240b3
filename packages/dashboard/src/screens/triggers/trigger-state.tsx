import type { OperationOutput } from '@svc/runtime/client';
import { Badge } from '../../ui/badge.tsx';
import type { Tone } from '../../ui/badge.tsx';
import { Link } from '../../ui/link.tsx';

export type Trigger = OperationOutput<'triggers.list'>['items'][number];
export type Delivery = OperationOutput<'triggers.get'>['deliveries'][number];
export type Poll = NonNullable<Trigger['poll']>;
export type Scheme = NonNullable<Trigger['signature']>['scheme'];

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
  failing: ['bad', 'failing'],
  disabled: ['neutral', 'disabled'],
};

/** Who calls, or what is asked. */
export function senderOf({ signature, poll }: Pick<Trigger, 'signature' | 'poll'>): string {
  if (poll) return URL.canParse(poll.url) ? `polls ${new URL(poll.url).host}` : `polls ${poll.connection ?? poll.url}`;
  const scheme = signature?.scheme;
  return SCHEMES.find(([known]) => known === scheme)?.[1] ?? scheme ?? '';
}

/** How often it is asked, in words. */
export function cadenceOf({ cron, timeZone, everySeconds = 300 }: Poll): string {
  if (cron !== undefined) return `at ${cron} ${timeZone ?? 'UTC'}`;
  const [unit, size] = UNITS.find(([, seconds]) => everySeconds % seconds === 0) ?? ['s', 1];
  return `every ${(everySeconds / size).toLocaleString('en')} ${unit}`;
}

const UNITS = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
] as const;

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
