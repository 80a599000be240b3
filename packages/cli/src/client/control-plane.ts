/** The box a command talks to. */
export interface Target {
  /** Without a slash at the end. */
  url: string;
  /** What is shown to the box: `Authorization: Bearer`. */
  token?: string;
  /** When the token ends, in milliseconds since 1970, where that is known. */
  expiresAt?: number;
  /** A fresh token, of a box whose tokens are short-lived. Throws as the session at the control plane does. */
  renew?(): Promise<Pick<Target, 'token' | 'expiresAt'>>;
  /** It is the dev runtime of this machine. */
  isDev?: true;
}

/** What the command line asks a control plane; `account/session.ts` is the one with the session of `svc login`. */
export interface ControlPlane {
  /** Without a slash at the end. */
  url: string;
  /** Undefined: there is no session on this machine. */
  findSession(): Promise<Session | undefined>;
}

/** A person's session. */
export interface Session {
  /** The box of an installation of the person's organization, with a token for it. Undefined: none is linked. */
  findBox(installationId: string): Promise<Target | undefined>;
}
