import type { OperationInput, OperationOutput } from '@svc/runtime/client';
import type { AuthKind } from './connection-state.ts';
import { isOAuth } from './connection-state.ts';

export type Provider = OperationOutput<'connections.providers'>['items'][number];

/** A connection as it is written. */
export interface Draft {
  id: string;
  auth: AuthKind;
  perUser: boolean;
  title: string;
  baseUrl: string;
  authorizationUrl: string;
  tokenUrl: string;
  revocationUrl: string;
  clientId: string;
  /** Separated by spaces or lines. */
  scopes: string;
  /** One a line. */
  origins: string;
  tokenAuth: '' | 'basic' | 'post' | 'none';
  header: string;
  /** Undefined: as the service has it. */
  prefix: string | undefined;
  /** `name=value`, one a line. */
  params: string;
}

export function toDraft({ id, auth, scopes }: Provider): Draft {
  return {
    id: id === 'custom' ? '' : id,
    auth: auth[0] ?? 'api_key',
    perUser: false,
    title: '',
    baseUrl: '',
    authorizationUrl: '',
    tokenUrl: '',
    revocationUrl: '',
    clientId: '',
    scopes: scopes.join(' '),
    origins: '',
    tokenAuth: '',
    header: '',
    prefix: undefined,
    params: '',
  };
}

/** Which addresses the service leaves open, so that the connection has to name them. */
export function listNeeded({ baseUrl, authorizationUrl, tokenUrl }: Provider, auth: AuthKind): (keyof Draft)[] {
  return [
    ...(baseUrl === null ? (['baseUrl'] as const) : []),
    ...(auth === 'oauth2' && authorizationUrl === null ? (['authorizationUrl'] as const) : []),
    ...(isOAuth(auth) && tokenUrl === null ? (['tokenUrl'] as const) : []),
    ...(isOAuth(auth) ? (['clientId'] as const) : []),
  ];
}

/** Throws a sentence that says what is no `name=value`. */
export function toInput(provider: Provider, draft: Draft): OperationInput<'connections.create'> {
  const { id, auth, perUser, prefix, tokenAuth } = draft;
  const text = (name: TextMember) => (draft[name].trim() === '' ? {} : { [name]: draft[name].trim() });
  const common = { id: id.trim(), provider: provider.id, auth, ...text('title'), ...text('baseUrl') };
  const origins = wordsOf(draft.origins);
  const all = { ...common, ...(origins.length === 0 ? {} : { origins }) };
  if (auth === 'api_key') return { ...all, ...text('header'), ...(prefix === undefined ? {} : { prefix }) };
  if (!isOAuth(auth)) return all;
  const scopes = wordsOf(draft.scopes);
  return {
    ...all,
    ...text('clientId'),
    ...text('tokenUrl'),
    ...text('revocationUrl'),
    ...(tokenAuth === '' ? {} : { tokenAuth }),
    ...(scopes.join(' ') === provider.scopes.join(' ') && auth === 'oauth2' ? {} : { scopes }),
    ...(auth === 'oauth2'
      ? { ...text('authorizationUrl'), ...toParams(draft.params), per: perUser ? 'user' : 'box' }
      : {}),
  };
}

// --- internal ---

type TextMember = 'title' | 'baseUrl' | 'authorizationUrl' | 'tokenUrl' | 'revocationUrl' | 'clientId' | 'header';

function wordsOf(text: string): string[] {
  return text.split(/\s+/).filter(Boolean);
}

function toParams(text: string): { params?: Record<string, string> } {
  const lines = text
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean);
  if (lines.length === 0) return {};
  return {
    params: Object.fromEntries(
      lines.map((line) => {
        const at = line.indexOf('=');
        if (at < 1) throw new Error(`"${line}" is no name=value.`);
        return [line.slice(0, at), line.slice(at + 1)];
      }),
    ),
  };
}
