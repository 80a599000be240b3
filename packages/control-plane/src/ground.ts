import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Log } from '../../runtime/src/log.ts';
import type { FullSettings, Settings } from './config.ts';
import type { Account, Call, RawRoute, Route } from './http/route.ts';
import type { PasswordCost } from './passwords/hash.ts';
import type { Sealer } from './sealer.ts';
import type { Db } from './store/db.ts';

/** What every room of both modes is given. */
export interface Ground {
  settings: Settings;
  log: Log;
  /** The wall clock, in milliseconds since 1970: every expiry is measured by it. */
  now(): number;
  /** Where browsers and boxes reach the control plane, without a slash at the end. */
  publicUrl(): string;
  /** Whether that address was given, or has to be kept to. */
  isNamed: boolean;
  passwordCost: PasswordCost;
  /** Seconds that a device waits between two polls. */
  pollSeconds: number;
}

/** What every room of the full mode is given. */
export interface FullGround extends Ground {
  full: FullSettings;
  db: Db;
  sealer: Sealer;
}

/** What a mode is made of. */
export interface Rooms {
  routes: readonly Route[];
  raw: readonly RawRoute[];
  authenticate(call: Call): Promise<Account | undefined>;
  requireOperator(call: Call): Promise<void>;
  /** Answers what is not for the control plane itself, by the name it is asked under; true: it does. Absent: nothing. */
  divert?(request: IncomingMessage, response: ServerResponse): boolean;
  /** Takes over a connection that is to be no HTTP any more. Absent: there is none. */
  upgrade?: Upgrade;
  /** Ends what it holds open of others; the store is open until then. */
  close(): Promise<void>;
}

export type Upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => void;
