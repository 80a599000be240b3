import { createModelClient } from '../agents/model/client.ts';
import type { CallModel } from '../agents/model/client.ts';
import { createEmbeddingsClient } from '../agents/model/embeddings.ts';
import type { CallEmbeddings } from '../agents/model/embeddings.ts';
import { createRerankClient } from '../agents/model/rerank.ts';
import type { CallRerank } from '../agents/model/rerank.ts';
import { withUnsaidDocuments, withUnsaidInput, withUnsaidUsage } from '../agents/turn/unsaid-usage.ts';
import { currentContext } from '../engine/context.ts';
import { createGate } from '../gate/gate.ts';
import type { Gate } from '../gate/gate.ts';
import { createModelProvider } from '../provider/provider.ts';
import type { ProviderInUse } from '../provider/provider.ts';
import type { ModelProvider } from '../provider/provider.ts';
import type { Foundation } from './foundation.ts';
import type { LoadedProgram } from './program.ts';
import { withCost } from '../agents/model/priced.ts';

/** What opens the gate, and what agents and workflows run with once it is open. */
export interface Opening {
  gate: Gate;
  /** Agents may be asked: they have a model provider. */
  areAgentsArmed(): boolean;
  provider: ModelProvider;
  /** What agents call. */
  callModel: CallModel;
  callEmbeddings: CallEmbeddings;
  callRerank: CallRerank;
  hasCompletedRun(): Promise<boolean>;
}

export function createOpening(
  { options, engine, telemetry, spendOfRun }: Foundation,
  { load }: LoadedProgram,
): Opening {
  const { journal, kv, supervisor } = options;
  const { environment, store, egress } = options.provider;
  const hasCompletedRun = async () => (await journal.listRuns({ status: 'completed' }, { limit: 1 })).length > 0;
  const loadProgram = async () => load(await options.loadProgram());
  const arm = async () => {
    await engine.arm();
    telemetry.watchStalls();
  };
  const sources = {
    // One that another process has begun for its runs need not ask.
    providerInEnvironment: environment !== undefined || supervisor !== undefined,
    isProviderStored: async () => (await store.read()) !== undefined,
  };
  const isDev = options.host === 'dev';
  const gate = isDev
    ? createGate({ ...sources, hasCompletedRun }, async () => {
        await loadProgram();
        await arm();
      })
    : createAgentGate(
        createGate({ ...sources, hasCompletedRun: async () => false }, async () => {}),
        {
          loadProgram,
          arm,
        },
      );
  const onStored = async () => void (await gate.check());
  const provider = createModelProvider({ environment, store, kv, egress, onStored });
  const getProvider = async (): Promise<ProviderInUse> => {
    const provided = await provider.get();
    telemetry.sawProvider(provided);
    return provided;
  };
  const onUnsaid = (tokens: number): void => {
    const run = currentContext()?.execution.run;
    if (run) void spendOfRun(run, tokens).catch(() => {}); // a budget that cannot be read refuses no one
  };
  const { modelHeaders } = telemetry;
  const asked = withUnsaidUsage(options.callModel ?? createModelClient(getProvider, modelHeaders), onUnsaid);
  const callModel = withCost(asked, options.prices ?? (() => ({})));
  const callEmbeddings = withUnsaidInput(
    options.callEmbeddings ?? createEmbeddingsClient(getProvider, modelHeaders),
    onUnsaid,
  );
  const callRerank = withUnsaidDocuments(options.callRerank ?? createRerankClient(getProvider, modelHeaders), onUnsaid);
  const areAgentsArmed = () => engine.armed && (isDev || gate.state().open);
  return { gate, areAgentsArmed, provider, callModel, callEmbeddings, callRerank, hasCompletedRun };
}

// --- internal ---

interface Begin {
  loadProgram(): Promise<void>;
  arm(): Promise<void>;
}

/** The gate of a deployed box holds back agents alone: its first look begins what needs no model, too. */
function createAgentGate(gate: Gate, { loadProgram, arm }: Begin): Gate {
  let loaded: Promise<void> | undefined;
  let armed: Promise<void> | undefined;
  return {
    ...gate,
    async check() {
      await (loaded ??= loadProgram());
      // Before runs are taken: turns among them go on at once.
      const state = await gate.check();
      await (armed ??= arm());
      return state;
    },
  };
}
