import type { UsersProvider } from './auth/user-tokens.ts';
import { isOriginEntry } from './http/cors.ts';
import { checkMembers } from './definition-checks.ts';
import { checkPrices } from './limits/prices.ts';
import type { ModelPrices } from './limits/prices.ts';
import { checkNotify } from './notify/config.ts';
import type { NotifyReceiver } from './notify/config.ts';
import { PROMPT_KEY, PROMPT_KEY_RULE } from './prompts/key.ts';
import { SECRET_NAME, SECRET_NAME_RULE } from './secrets/name.ts';
import { checkRetention } from './retention/retention.ts';
import type { RetentionOptions } from './retention/retention.ts';

/**
 * @typeParam S the names of its secrets
 * @typeParam P the keys of its prompts
 */
export interface WorkspaceConfig<S extends string = string, P extends string = string> {
  /** The model of every agent that names none, as `<vendor>/<model>`. */
  model?: string;
  /** The model of `svc.ai.embed` where a call names none. */
  embeddingModel?: string;
  /** The model that puts what a search of a collection finds in its order, where the collection names none. */
  rerankModel?: string;
  /**
   * What a million tokens of each model cost, in one currency: what agents, keys, users and models cost is counted by it.
   * Default: cost is not counted.
   */
  prices?: ModelPrices;
  /**
   * The names of the secrets that its code reads. `svc.secrets.get` of another one does not compile, and a box that starts
   * says which of them are not set. Default: any name compiles.
   */
  secrets?: readonly S[];
  /**
   * The keys of the prompts that its code reads. `svc.prompts` with another one does not compile. Default: any key compiles.
   */
  prompts?: readonly P[];
  /** How long sessions and runs that are over are kept, and log records. Default: for ever; log records 14 days. */
  retention?: RetentionOptions;
  /** Who is posted a signed message when a run fails or is blocked, or an approval is asked for. Default: none. */
  notify?: NotifyReceiver[];
  /** Who signs tokens of end users, besides the API keys: an issuer of the workspace's own. Default: none. */
  users?: UsersProvider;
  studio?: {
    /**
     * Origins whose pages may call the box, besides the built-in ones: `https://app.example.com`, with `*` for one label
     * of the host, or for the port.
     */
    corsOrigins?: string[];
  };
  mcp?: {
    /** Offers each agent and each workflow as a tool of its own at `/mcp`. Default: false. */
    tools?: boolean;
  };
}

const MEMBERS: Record<keyof WorkspaceConfig, true> = {
  model: true,
  embeddingModel: true,
  rerankModel: true,
  prices: true,
  secrets: true,
  prompts: true,
  retention: true,
  notify: true,
  users: true,
  studio: true,
  mcp: true,
};

/**
 * Types `svc.config.ts`, the workspace's settings in code. Throws on a setting that there is not, on an origin or a name of
 * a secret that is none, and on a time that is none.
 */
export function defineConfig<const S extends string = never, const P extends string = never>(
  config: WorkspaceConfig<S, P>,
): WorkspaceConfig<S, P> {
  checkMembers('svc.config.ts', config, Object.keys(MEMBERS));
  checkMembers('"retention" of svc.config.ts', config.retention ?? {}, [
    'sessionDays',
    'runDays',
    'evalDays',
    'logDays',
  ]);
  checkMembers('"studio" of svc.config.ts', config.studio ?? {}, ['corsOrigins']);
  checkMembers('"mcp" of svc.config.ts', config.mcp ?? {}, ['tools']);
  for (const origin of config.studio?.corsOrigins ?? [])
    if (!isOriginEntry(origin))
      throw new TypeError(
        `"studio.corsOrigins" has the entry "${String(origin)}", which is no origin. Write scheme and host, as in https://app.example.com, without a path.`,
      );
  checkPrices(config.prices);
  checkSecrets(config.secrets);
  checkPrompts(config.prompts);
  checkRetention(config.retention);
  checkNotify(config.notify);
  checkUsers(config.users);
  return config;
}

/** The settings a loaded `svc.config.ts` exports. Throws a sentence when it exports none, or some that make no sense. */
export function toWorkspaceConfig(exports: Record<string, unknown>): WorkspaceConfig {
  const config = exports['default'];
  if (typeof config === 'object' && config !== null && !Array.isArray(config)) return defineConfig(config);
  throw new TypeError(
    'The default export of "svc.config.ts" is not an object of settings. Write: export default defineConfig({ ... }).',
  );
}

// --- internal ---

function checkSecrets(names: unknown): void {
  if (names === undefined) return;
  if (!Array.isArray(names)) throw new TypeError('"secrets" of svc.config.ts is no list of names.');
  const other = names.find((name) => typeof name !== 'string' || !SECRET_NAME.test(name));
  if (other !== undefined)
    throw new TypeError(`"secrets" of svc.config.ts has the entry ${JSON.stringify(other)}. ${SECRET_NAME_RULE}.`);
}

function checkPrompts(keys: unknown): void {
  if (keys === undefined) return;
  if (!Array.isArray(keys)) throw new TypeError('"prompts" of svc.config.ts is no list of keys.');
  const other = keys.find((key) => typeof key !== 'string' || !PROMPT_KEY.test(key));
  if (other !== undefined)
    throw new TypeError(`"prompts" of svc.config.ts has the entry ${JSON.stringify(other)}. ${PROMPT_KEY_RULE}.`);
}

const USERS_MEMBERS = ['issuer', 'audience', 'jwksUrl', 'client'] as const;

function checkUsers(users: UsersProvider | undefined): void {
  if (users === undefined) return;
  checkMembers('"users" of svc.config.ts', users, USERS_MEMBERS);
  for (const member of USERS_MEMBERS) {
    const value: unknown = users[member];
    if (typeof value !== 'string' || value === '' || value.length > LONGEST)
      throw new TypeError(`"users.${member}" of svc.config.ts is no text of 1 to ${LONGEST} characters.`);
  }
  if (!isKeySetUrl(users.jwksUrl))
    throw new TypeError(
      `"users.jwksUrl" of svc.config.ts is "${users.jwksUrl}". Write an https address without a password, as in https://login.example.com/.well-known/jwks.json.`,
    );
}

const LONGEST = 1_024;

/** Who could change the keys on their way could sign for any user. */
function isKeySetUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, username, password } = new URL(text);
  const isLocal = ['localhost', '127.0.0.1', '[::1]'].includes(hostname);
  return (protocol === 'https:' || (protocol === 'http:' && isLocal)) && username === '' && password === '';
}
