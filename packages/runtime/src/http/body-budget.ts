import type { IncomingMessage } from 'node:http';
import { BoxError } from '../errors.ts';

/** Bytes of bodies that are being read, of all requests together: whoever sends slowly holds what has come so far. */
export interface BodyBudget {
  /** What one request holds. `address`: of one without a credential. */
  open(address: string | undefined): BodyShare;
}

export interface BodyShare {
  /** Throws `overloaded` when so much more is not there. */
  take(bytes: number): void;
  /** All of it. */
  giveBack(): void;
}

export interface BodyBudgetOptions {
  /** Default 128 MiB: four of the largest chat requests. */
  bytes?: number;
  /** The most that requests without a credential hold that come from one address. Default 16 MiB. */
  bytesOfAddress?: number;
}

export function createBodyBudget({ bytes = 128 * MIB, bytesOfAddress = 16 * MIB }: BodyBudgetOptions = {}): BodyBudget {
  const ofAddresses = new Map<string, number>();
  let held = 0;
  return {
    open(address) {
      let own = 0;
      const change = (by: number): void => {
        own += by;
        held += by;
        if (address === undefined) return;
        const left = (ofAddresses.get(address) ?? 0) + by;
        if (left > 0) ofAddresses.set(address, left);
        else ofAddresses.delete(address);
      };
      return {
        take(more) {
          if (held + more > bytes) throw overloaded('all requests together', bytes);
          if (address !== undefined && (ofAddresses.get(address) ?? 0) + more > bytesOfAddress)
            throw overloaded('requests of one address that carry no credential', bytesOfAddress);
          change(more);
        },
        giveBack: () => change(-own),
      };
    },
  };
}

/** Has the bodies of a server's requests counted. */
export function setBodyBudget(request: IncomingMessage, budget: BodyBudget): void {
  (request as Counted)[BUDGET] = budget;
}

/** Undefined: its bytes are not counted, as there is no socket that could send them slowly. */
export function bodyBudgetOf(request: IncomingMessage): BodyBudget | undefined {
  return (request as Counted)[BUDGET];
}

// --- internal ---

const MIB = 1_048_576;
const BUDGET = Symbol('svc.http.body-budget');

type Counted = IncomingMessage & { [BUDGET]?: BodyBudget };

function overloaded(whose: string, limit: number): BoxError {
  const message = `The bodies of ${whose} that are being read have ${limit} bytes, the most there may be. Try again.`;
  return new BoxError('overloaded', message, { details: { limit, retryAfter: 1 } });
}
