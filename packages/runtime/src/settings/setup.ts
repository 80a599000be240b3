import { z } from 'zod';
import type { Gate } from '../gate/gate.ts';
import type { Models } from '../provider/models.ts';
import type { ModelProvider } from '../provider/provider.ts';
import type { WorkspaceSettings } from './settings.ts';

/** What a new workspace still needs. */
export const Setup = z.object({
  steps: z.array(
    z.object({
      id: z.enum(['provider', 'default-model', 'first-run']),
      done: z.boolean(),
      hint: z.string().describe('What to do about it'),
      problem: z.string().optional().describe('What is wrong with what was chosen'),
    }),
  ),
  gate: z
    .object({ open: z.boolean(), reason: z.string() })
    .describe('Whether agents and workflows are served, and why'),
});
export type Setup = z.infer<typeof Setup>;

export interface SetupOptions {
  gate: Pick<Gate, 'state'>;
  provider: Pick<ModelProvider, 'info'>;
  models: Pick<Models, 'list'>;
  settings: Pick<WorkspaceSettings, 'defaultModel'>;
  hasCompletedRun(): Promise<boolean>;
}

/** The checklist of the first run. */
export function createSetup({ gate, provider, models, settings, hasCompletedRun }: SetupOptions): () => Promise<Setup> {
  /** Undefined: the provider is not there, has no list, or takes its time. */
  const listModels = async (): Promise<string[] | undefined> => {
    const list = await models.list(AbortSignal.timeout(PATIENCE_MS)).catch(() => undefined);
    return list?.items.map(({ id }) => id);
  };
  return async () => {
    const [{ source }, model, hasRun] = await Promise.all([
      provider.info(),
      settings.defaultModel(),
      hasCompletedRun(),
    ]);
    const offered = model === undefined || source === null ? undefined : await listModels();
    const isOffered = model === undefined || (offered?.includes(model) ?? true);
    return {
      steps: [
        {
          id: 'provider',
          done: source !== null,
          hint: 'Set MODEL_PROVIDER_BASE_URL and MODEL_PROVIDER_API_KEY, or send PUT /api/model-provider.',
        },
        {
          id: 'default-model',
          done: model !== undefined && isOffered,
          hint: 'Choose the model of agents that name none with PATCH /api/settings; GET /api/models lists what there is.',
          ...(isOffered ? {} : { problem: `The model provider does not list the default model "${model}".` }),
        },
        {
          id: 'first-run',
          done: hasRun,
          hint: 'Talk to an agent, or start a workflow with POST /api/workflows/:name/start.',
        },
      ],
      gate: gate.state(),
    };
  };
}

// --- internal ---

const PATIENCE_MS = 3_000;
