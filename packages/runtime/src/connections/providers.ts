import { z } from 'zod';

/** How a service knows who calls. */
export const AUTH_KINDS = ['oauth2', 'client_credentials', 'api_key', 'basic'] as const;
export type AuthKind = (typeof AUTH_KINDS)[number];

/** Of those that call with a token, which comes from `tokenUrl`. */
export function isOAuth(auth: AuthKind): boolean {
  return auth === 'oauth2' || auth === 'client_credentials';
}

/** How a client of OAuth says who it is: in a header, in the body, or not at all. */
export const TOKEN_AUTHS = ['basic', 'post', 'none'] as const;
export type TokenAuth = (typeof TOKEN_AUTHS)[number];

/** A service that can be connected, and what it needs, as callers see it. */
export const ConnectionProvider = z.object({
  id: z.string(),
  title: z.string(),
  auth: z.array(z.enum(AUTH_KINDS)).describe('The first is what a connection has that names none'),
  baseUrl: z.string().nullable().describe('Null: every customer has another, so the connection has to name it'),
  authorizationUrl: z.string().nullable(),
  tokenUrl: z.string().nullable(),
  revocationUrl: z.string().nullable().describe('Where tokens are revoked, as RFC 7009 defines it'),
  scopes: z.array(z.string()).describe('Asked for where the connection names none'),
  docs: z.string().nullable().describe('Where the service says how to get a credential'),
});
export type ConnectionProvider = z.infer<typeof ConnectionProvider>;

/** One of them, with what only the box needs to know. */
export interface Service extends ConnectionProvider {
  /** Origins besides that of `baseUrl` that are sent the credential. */
  origins: readonly string[];
  tokenAuth: TokenAuth;
  scopeSeparator: ' ' | ',';
  /** What its sign-in page is asked with besides. */
  params: Readonly<Record<string, string>>;
  /** Where a key is put. */
  header: string;
  prefix: string;
  /** Sent with every call. */
  headers: Readonly<Record<string, string>>;
  /** A call that shows whether a credential is good, and changes nothing. */
  test: { method: 'GET' | 'POST'; path: string; body?: string } | null;
}

export const CUSTOM = 'custom';

/** By id. */
export function findService(id: string): Service | undefined {
  return SERVICES.find((service) => service.id === id);
}

/** In the order of their ids, and at the end the one that is described by hand. */
export function listProviders(): ConnectionProvider[] {
  return SERVICES.map(({ id, title, auth, baseUrl, authorizationUrl, tokenUrl, revocationUrl, scopes, docs }) => {
    return { id, title, auth, baseUrl, authorizationUrl, tokenUrl, revocationUrl, scopes, docs };
  });
}

// --- internal ---

type Described = Partial<Service> & Pick<Service, 'id' | 'title' | 'auth'>;

const read = (path: string) => ({ method: 'GET', path }) as const;

const DESCRIBED: Described[] = [
  {
    id: 'airtable',
    title: 'Airtable',
    auth: ['oauth2', 'api_key'],
    baseUrl: 'https://api.airtable.com/v0',
    authorizationUrl: 'https://airtable.com/oauth2/v1/authorize',
    tokenUrl: 'https://airtable.com/oauth2/v1/token',
    scopes: ['data.records:read', 'schema.bases:read'],
    test: read('/meta/whoami'),
    docs: 'https://airtable.com/developers/web/api/oauth-reference',
  },
  {
    id: 'anthropic',
    title: 'Anthropic',
    auth: ['api_key'],
    baseUrl: 'https://api.anthropic.com/v1',
    header: 'x-api-key',
    prefix: '',
    headers: { 'anthropic-version': '2023-06-01' },
    test: read('/models'),
    docs: 'https://docs.anthropic.com/en/api/overview',
  },
  {
    id: 'asana',
    title: 'Asana',
    auth: ['oauth2', 'api_key'],
    baseUrl: 'https://app.asana.com/api/1.0',
    authorizationUrl: 'https://app.asana.com/-/oauth_authorize',
    tokenUrl: 'https://app.asana.com/-/oauth_token',
    revocationUrl: 'https://app.asana.com/-/oauth_revoke',
    tokenAuth: 'post',
    test: read('/users/me'),
    docs: 'https://developers.asana.com/docs/oauth',
  },
  {
    id: 'atlassian',
    title: 'Atlassian (Jira, Confluence)',
    auth: ['oauth2'],
    baseUrl: 'https://api.atlassian.com',
    authorizationUrl: 'https://auth.atlassian.com/authorize',
    tokenUrl: 'https://auth.atlassian.com/oauth/token',
    tokenAuth: 'post',
    scopes: ['offline_access', 'read:jira-work', 'read:jira-user'],
    params: { audience: 'api.atlassian.com', prompt: 'consent' },
    test: read('/oauth/token/accessible-resources'),
    docs: 'https://developer.atlassian.com/cloud/jira/platform/oauth-2-3lo-apps/',
  },
  {
    id: 'discord',
    title: 'Discord',
    auth: ['oauth2', 'api_key'],
    baseUrl: 'https://discord.com/api/v10',
    authorizationUrl: 'https://discord.com/oauth2/authorize',
    tokenUrl: 'https://discord.com/api/oauth2/token',
    revocationUrl: 'https://discord.com/api/oauth2/token/revoke',
    scopes: ['identify'],
    prefix: 'Bot ',
    test: read('/users/@me'),
    docs: 'https://discord.com/developers/docs/topics/oauth2',
  },
  {
    id: 'dropbox',
    title: 'Dropbox',
    auth: ['oauth2'],
    baseUrl: 'https://api.dropboxapi.com/2',
    origins: ['https://content.dropboxapi.com'],
    authorizationUrl: 'https://www.dropbox.com/oauth2/authorize',
    tokenUrl: 'https://api.dropboxapi.com/oauth2/token',
    params: { token_access_type: 'offline' },
    test: { method: 'POST', path: '/users/get_current_account' },
    docs: 'https://www.dropbox.com/developers/reference/auth-types',
  },
  {
    id: 'figma',
    title: 'Figma',
    auth: ['oauth2', 'api_key'],
    baseUrl: 'https://api.figma.com/v1',
    authorizationUrl: 'https://www.figma.com/oauth',
    tokenUrl: 'https://api.figma.com/v1/oauth/token',
    scopes: ['current_user:read', 'file_content:read'],
    header: 'x-figma-token',
    prefix: '',
    test: read('/me'),
    docs: 'https://www.figma.com/developers/api#authentication',
  },
  {
    id: 'github',
    title: 'GitHub',
    auth: ['oauth2', 'api_key'],
    baseUrl: 'https://api.github.com',
    origins: ['https://uploads.github.com'],
    authorizationUrl: 'https://github.com/login/oauth/authorize',
    tokenUrl: 'https://github.com/login/oauth/access_token',
    tokenAuth: 'post',
    scopes: ['read:user', 'repo'],
    headers: { accept: 'application/vnd.github+json', 'x-github-api-version': '2022-11-28' },
    test: read('/user'),
    docs: 'https://docs.github.com/en/apps/oauth-apps/building-oauth-apps',
  },
  {
    id: 'gitlab',
    title: 'GitLab',
    auth: ['oauth2', 'api_key'],
    baseUrl: 'https://gitlab.com/api/v4',
    authorizationUrl: 'https://gitlab.com/oauth/authorize',
    tokenUrl: 'https://gitlab.com/oauth/token',
    revocationUrl: 'https://gitlab.com/oauth/revoke',
    tokenAuth: 'post',
    scopes: ['read_user', 'read_api'],
    header: 'private-token',
    prefix: '',
    test: read('/user'),
    docs: 'https://docs.gitlab.com/api/oauth2/',
  },
  {
    id: 'google',
    title: 'Google',
    auth: ['oauth2'],
    baseUrl: 'https://www.googleapis.com',
    origins: [
      'https://gmail.googleapis.com',
      'https://sheets.googleapis.com',
      'https://docs.googleapis.com',
      'https://people.googleapis.com',
    ],
    authorizationUrl: 'https://accounts.google.com/o/oauth2/v2/auth',
    tokenUrl: 'https://oauth2.googleapis.com/token',
    revocationUrl: 'https://oauth2.googleapis.com/revoke',
    tokenAuth: 'post',
    scopes: ['openid', 'email'],
    // Without both it hands out a token that cannot be refreshed.
    params: { access_type: 'offline', prompt: 'consent' },
    test: read('/oauth2/v3/userinfo'),
    docs: 'https://developers.google.com/identity/protocols/oauth2/web-server',
  },
  {
    id: 'hubspot',
    title: 'HubSpot',
    auth: ['oauth2', 'api_key'],
    baseUrl: 'https://api.hubapi.com',
    authorizationUrl: 'https://app.hubspot.com/oauth/authorize',
    tokenUrl: 'https://api.hubapi.com/oauth/v1/token',
    tokenAuth: 'post',
    scopes: ['oauth'],
    test: read('/account-info/v3/details'),
    docs: 'https://developers.hubspot.com/docs/guides/apps/authentication/working-with-oauth',
  },
  {
    id: 'linear',
    title: 'Linear',
    auth: ['oauth2', 'api_key'],
    baseUrl: 'https://api.linear.app',
    authorizationUrl: 'https://linear.app/oauth/authorize',
    tokenUrl: 'https://api.linear.app/oauth/token',
    revocationUrl: 'https://api.linear.app/oauth/revoke',
    tokenAuth: 'post',
    scopes: ['read'],
    scopeSeparator: ',',
    prefix: '',
    test: { method: 'POST', path: '/graphql', body: '{"query":"{ viewer { id } }"}' },
    docs: 'https://linear.app/developers/oauth-2-0-authentication',
  },
  {
    id: 'microsoft',
    title: 'Microsoft (Graph)',
    auth: ['oauth2'],
    baseUrl: 'https://graph.microsoft.com/v1.0',
    authorizationUrl: 'https://login.microsoftonline.com/common/oauth2/v2.0/authorize',
    tokenUrl: 'https://login.microsoftonline.com/common/oauth2/v2.0/token',
    tokenAuth: 'post',
    scopes: ['offline_access', 'User.Read'],
    test: read('/me'),
    docs: 'https://learn.microsoft.com/en-us/entra/identity-platform/v2-oauth2-auth-code-flow',
  },
  {
    id: 'notion',
    title: 'Notion',
    auth: ['api_key'],
    baseUrl: 'https://api.notion.com/v1',
    headers: { 'notion-version': '2022-06-28' },
    test: read('/users/me'),
    docs: 'https://developers.notion.com/docs/authorization',
  },
  {
    id: 'openai',
    title: 'OpenAI',
    auth: ['api_key'],
    baseUrl: 'https://api.openai.com/v1',
    test: read('/models'),
    docs: 'https://platform.openai.com/docs/api-reference/authentication',
  },
  {
    id: 'resend',
    title: 'Resend',
    auth: ['api_key'],
    baseUrl: 'https://api.resend.com',
    test: read('/domains'),
    docs: 'https://resend.com/docs/api-reference/introduction',
  },
  {
    id: 'salesforce',
    title: 'Salesforce',
    auth: ['oauth2', 'client_credentials'],
    authorizationUrl: 'https://login.salesforce.com/services/oauth2/authorize',
    tokenUrl: 'https://login.salesforce.com/services/oauth2/token',
    revocationUrl: 'https://login.salesforce.com/services/oauth2/revoke',
    tokenAuth: 'post',
    scopes: ['api', 'refresh_token'],
    test: read('/services/data'),
    docs: 'https://help.salesforce.com/s/articleView?id=sf.remoteaccess_oauth_web_server_flow.htm',
  },
  {
    id: 'sendgrid',
    title: 'SendGrid',
    auth: ['api_key'],
    baseUrl: 'https://api.sendgrid.com/v3',
    test: read('/scopes'),
    docs: 'https://www.twilio.com/docs/sendgrid/api-reference/how-to-use-the-sendgrid-v3-api/authentication',
  },
  {
    id: 'shopify',
    title: 'Shopify',
    auth: ['api_key'],
    header: 'x-shopify-access-token',
    prefix: '',
    test: read('/admin/api/2026-01/shop.json'),
    docs: 'https://shopify.dev/docs/apps/build/authentication-authorization',
  },
  {
    id: 'slack',
    title: 'Slack',
    auth: ['oauth2', 'api_key'],
    baseUrl: 'https://slack.com/api',
    authorizationUrl: 'https://slack.com/oauth/v2/authorize',
    tokenUrl: 'https://slack.com/api/oauth.v2.access',
    tokenAuth: 'post',
    scopes: ['chat:write', 'channels:read'],
    scopeSeparator: ',',
    test: read('/auth.test'),
    docs: 'https://api.slack.com/authentication/oauth-v2',
  },
  {
    id: 'spotify',
    title: 'Spotify',
    auth: ['oauth2', 'client_credentials'],
    baseUrl: 'https://api.spotify.com/v1',
    authorizationUrl: 'https://accounts.spotify.com/authorize',
    tokenUrl: 'https://accounts.spotify.com/api/token',
    scopes: ['user-read-email'],
    docs: 'https://developer.spotify.com/documentation/web-api/concepts/authorization',
  },
  {
    id: 'stripe',
    title: 'Stripe',
    auth: ['api_key'],
    baseUrl: 'https://api.stripe.com/v1',
    test: read('/balance'),
    docs: 'https://docs.stripe.com/keys',
  },
  {
    id: 'twilio',
    title: 'Twilio',
    auth: ['basic'],
    baseUrl: 'https://api.twilio.com/2010-04-01',
    test: read('/Accounts.json'),
    docs: 'https://www.twilio.com/docs/usage/requests-to-twilio',
  },
  {
    id: 'zoom',
    title: 'Zoom',
    auth: ['oauth2'],
    baseUrl: 'https://api.zoom.us/v2',
    authorizationUrl: 'https://zoom.us/oauth/authorize',
    tokenUrl: 'https://zoom.us/oauth/token',
    revocationUrl: 'https://zoom.us/oauth/revoke',
    test: read('/users/me'),
    docs: 'https://developers.zoom.us/docs/integrations/oauth/',
  },
  { id: CUSTOM, title: 'Another service', auth: ['oauth2', 'client_credentials', 'api_key', 'basic'] },
];

const SERVICES: readonly Service[] = DESCRIBED.map((described) => ({
  baseUrl: null,
  authorizationUrl: null,
  tokenUrl: null,
  revocationUrl: null,
  scopes: [],
  docs: null,
  origins: [],
  tokenAuth: 'basic',
  scopeSeparator: ' ',
  params: {},
  header: 'authorization',
  prefix: 'Bearer ',
  headers: {},
  test: null,
  ...described,
}));
