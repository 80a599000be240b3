import { describe, expect, test } from 'vitest';
import { SCHEMES } from './schemes.ts';
import type { Signature } from './signature.ts';

interface Example {
  signature: Signature;
  secret: string;
  headers: Record<string, string>;
  body: string;
  url?: string;
  /** Seconds since 1970. */
  at?: number;
}

/** As they are published, in the documentation of Svix, GitHub, Slack and Twilio. The other senders publish none. */
const EXAMPLES: Record<string, Example> = {
  'Standard Webhooks': {
    signature: { scheme: 'standard-webhooks' },
    secret: 'whsec_plJ3nmyCDGBKInavdOK15jsl',
    headers: {
      'webhook-id': 'msg_loFOjxBNrRLzqYUf',
      'webhook-timestamp': '1731705121',
      'webhook-signature': 'v1,rAvfW3dJ/X/qxhsaXPOyyCGmRKsaKWcsNccKXlIktD0=',
    },
    body: '{"event_type":"ping","data":{"success":true}}',
    at: 1_731_705_121,
  },
  GitHub: {
    signature: { scheme: 'github' },
    secret: "It's a Secret to Everybody",
    headers: { 'x-hub-signature-256': 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17' },
    body: 'Hello, World!',
  },
  Slack: {
    signature: { scheme: 'slack' },
    secret: '8f742231b10e8888abcd99yyyzzz85a5',
    headers: {
      'x-slack-request-timestamp': '1531420618',
      'x-slack-signature': 'v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503',
    },
    body: 'token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c',
    at: 1_531_420_618,
  },
  Twilio: {
    signature: { scheme: 'twilio' },
    secret: '12345',
    headers: { 'x-twilio-signature': 'RSOYDt4T1cUTdK1PDd93/VVr8B8=' },
    url: 'https://mycompany.com/myapp.php?foo=1&bar=2',
    body: 'CallSid=CA1234567890ABCDE&Caller=%2B14158675309&Digits=1234&From=%2B14158675309&To=%2B18005551212',
  },
};

const check = ({ signature, secret, headers, body, url = '', at = 0 }: Example): boolean =>
  SCHEMES[signature.scheme].isGood(
    { headers: new Headers(headers), body: Buffer.from(body), url },
    { secret, signature, now: at },
  );

describe.each(Object.entries(EXAMPLES))('the published example of %s', (_, example) => {
  test('is let in', () => expect(check(example)).toBe(true));

  test('is refused with another body, another secret, or without a header', () => {
    expect(check({ ...example, body: `${example.body}1` })).toBe(false);
    expect(check({ ...example, secret: `${example.secret}abcd` })).toBe(false);
    for (const name of Object.keys(example.headers)) {
      const { [name]: _left, ...headers } = example.headers;
      expect([name, check({ ...example, headers })]).toEqual([name, false]);
    }
  });

  test.runIf(example.at)('is refused when its time is over, and before it has come', () => {
    const at = example.at ?? 0;
    expect([299, 301, -299, -301].map((by) => check({ ...example, at: at + by }))).toEqual([true, false, true, false]);
  });
});
