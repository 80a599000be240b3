import { createHmac, timingSafeEqual } from 'node:crypto';

/** What one control plane says to another, whose tunnel it is, of a request that it passes on. */
export interface Passed {
  /** Of whoever asks. Undefined: it is not known. */
  address: string | undefined;
}

/** Carries it, from one control plane to the next and no further. */
export const PASSED_HEADER = 'x-svc-plane-passed';

/** Only control planes that share the key can say it. */
export interface Passing {
  /** The value of the header, for the tunnel of that name. */
  sign(name: string, passed: Passed): string;
  /** Undefined: no one of ours has said so, or a minute ago. */
  open(name: string, value: string | string[] | undefined): Passed | undefined;
}

export function createPassing(key: Uint8Array, now: () => number): Passing {
  const toMac = (name: string, payload: string): Buffer =>
    createHmac('sha256', key).update(`a request for ${name} ${payload}`).digest();
  return {
    sign(name, { address }) {
      const payload = Buffer.from(JSON.stringify([now(), address ?? null])).toString('base64url');
      return `${payload}.${toMac(name, payload).toString('base64url')}`;
    },
    open(name, value) {
      const [, payload = '', mac = ''] = VALUE.exec(typeof value === 'string' ? value : '') ?? [];
      const [given, own] = [Buffer.from(mac, 'base64url'), toMac(name, payload)];
      if (given.length !== own.length || !timingSafeEqual(given, own)) return undefined;
      const [at, address] = JSON.parse(Buffer.from(payload, 'base64url').toString()) as [number, string | null];
      return Math.abs(now() - at) > GOOD_MS ? undefined : { address: address ?? undefined };
    },
  };
}

// --- internal ---

const VALUE = /^([\w-]{1,256})\.([\w-]{43})$/;
/** Clocks of control planes may differ by that much. */
const GOOD_MS = 60_000;
