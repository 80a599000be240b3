import { eq, sql } from 'drizzle-orm';
import { z } from 'zod';
import type { Drizzle } from '../stores/drizzle.ts';
import type { KeyValueStore } from '../stores/kv.ts';
import { createLiveValue } from '../stores/live-value.ts';
import { settings } from '../stores/table.ts';

/** What the workspace is set to, over the API and otherwise. */
export const Settings = z.object({
  name: z.string().nullable().describe('What people call the workspace'),
  defaultModel: z.string().nullable().describe('The model of agents that name none, as it is set here'),
  effectiveModel: z
    .object({ model: z.string().nullable(), source: z.enum(['environment', 'settings', 'code']).nullable() })
    .describe('What is in force: SVC_DEFAULT_MODEL wins over what is set here, and that over svc.config.ts'),
  timeZone: z.string().nullable().describe('The IANA zone people are shown times in'),
  logRetentionDays: z.int().nullable().describe('How long log records are kept; null: as svc.config.ts says'),
  keyDays: z
    .int()
    .nullable()
    .describe('How many days an API key is valid that is created without an expiry; null: for ever'),
  mcp: z.object({
    enabled: z.boolean().describe('Whether /mcp answers'),
    tools: z.boolean().describe('Whether each agent and workflow is a tool of its own there'),
  }),
  copilot: z.object({ enabled: z.boolean().describe('Whether the Studio copilot answers') }),
});
export type Settings = z.infer<typeof Settings>;

/** Null takes a setting back. */
export interface SettingsChange {
  name?: string | null;
  defaultModel?: string | null;
  timeZone?: string | null;
  logRetentionDays?: number | null;
  keyDays?: number | null;
  mcpEnabled?: boolean | null;
  mcpTools?: boolean | null;
  copilotEnabled?: boolean | null;
}

export interface WorkspaceSettings {
  get(): Promise<Settings>;
  update(change: SettingsChange): Promise<Settings>;
  /** The model of agents that name none. */
  defaultModel(): Promise<string | undefined>;
  /** Undefined: nothing is set over the API. */
  logRetentionDays(): Promise<number | undefined>;
  /** How many days an API key is good that is made without an end. Undefined: for ever. */
  keyDays(): Promise<number | undefined>;
  isMcpEnabled(): Promise<boolean>;
  /** Whether agents and workflows are tools of their own at `/mcp`. */
  hasMcpTools(): Promise<boolean>;
  isCopilotEnabled(): Promise<boolean>;
  close(): Promise<void>;
}

export interface SettingsOptions {
  db: Drizzle;
  kv?: KeyValueStore | undefined;
  /** False: the database is still being opened, and what the code says is in force. */
  isOpen?(): boolean;
  /** SVC_DEFAULT_MODEL. */
  environmentModel(): string | undefined;
  /** `model` of svc.config.ts. */
  codeModel(): string | undefined;
  /** `mcp.tools` of svc.config.ts. */
  codeMcpTools(): boolean;
}

export function createSettings(options: SettingsOptions): WorkspaceSettings {
  const { db, kv, isOpen = () => true } = options;
  const live = createLiveValue<SettingsChange>({
    topic: 'settings',
    kv,
    early: { isOpen, value: {} },
    async load() {
      const [row] = await db.select({ value: settings.value }).from(settings).where(eq(settings.key, KEY));
      return (row?.value ?? {}) as SettingsChange;
    },
  });
  const toModel = ({ defaultModel }: SettingsChange): Settings['effectiveModel'] => {
    const sources = { environment: options.environmentModel(), settings: defaultModel, code: options.codeModel() };
    const found = Object.entries(sources).find(([, model]) => model);
    if (!found) return { model: null, source: null };
    return { model: found[1] ?? null, source: found[0] as keyof typeof sources };
  };
  const toMcp = ({ mcpEnabled, mcpTools }: SettingsChange): Settings['mcp'] => ({
    enabled: mcpEnabled ?? true,
    tools: mcpTools ?? options.codeMcpTools(),
  });
  const get = async (): Promise<Settings> => {
    const set = await live.read();
    const { name = null, defaultModel = null, timeZone = null, logRetentionDays = null, keyDays = null } = set;
    return {
      name,
      defaultModel,
      effectiveModel: toModel(set),
      timeZone,
      logRetentionDays,
      keyDays,
      mcp: toMcp(set),
      copilot: { enabled: set.copilotEnabled ?? false },
    };
  };
  return {
    get,
    async update(change) {
      // Merged by the database: of two changes at once, neither takes the other back.
      await db
        .insert(settings)
        .values({ key: KEY, value: change })
        .onConflictDoUpdate({
          target: settings.key,
          set: { value: sql`${settings.value} || ${JSON.stringify(change)}::jsonb`, updatedAt: new Date() },
        });
      await live.changed();
      return get();
    },
    defaultModel: async () => toModel(await live.read()).model ?? undefined,
    logRetentionDays: async () => (await live.read()).logRetentionDays ?? undefined,
    keyDays: async () => (await live.read()).keyDays ?? undefined,
    isMcpEnabled: async () => toMcp(await live.read()).enabled,
    hasMcpTools: async () => toMcp(await live.read()).tools,
    isCopilotEnabled: async () => (await live.read()).copilotEnabled ?? false,
    close: live.close,
  };
}

// --- internal ---

const KEY = 'workspace';
