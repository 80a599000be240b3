import { createModelClient } from '../agents/model/client.ts';
import type { CallModel } from '../agents/model/client.ts';
import { createGate } from '../gate/gate.ts';
import type { Gate } from '../gate/gate.ts';
import { createModelProvider } from '../provider/provider.ts';
import type { ProviderInUse } from '../provider/provider.ts';
import type { ModelProvider } from '../provider/provider.ts';
import type { Foundation } from './foundation.ts';
import type { LoadedProgram } from './program.ts';

/** What opens the gate, and what agents and workflows run with once it is open. */
export interface Opening {
  gate: Gate;
  provider: ModelProvider;
  /** What agents call. */
  callModel: CallModel;
  hasCompletedRun(): Promise<boolean>;
}

export function createOpening({ options, closer, engine, telemetry }: Foundation, { load }: LoadedProgram): Opening {
  const { journal, kv, supervisor } = options;
  const { environment, store, egress } = options.provider;
  const hasCompletedRun = async () => (await journal.listRuns({ status: 'completed' }, { limit: 1 })).length > 0;
  const gate = createGate(
    {
      // One that another process has begun for its runs need not ask.
      providerInEnvironment: environment !== undefined || supervisor !== undefined,
      isProviderStored: async () => (await store.read()) !== undefined,
      hasCompletedRun,
    },
    async () => {
      await load(await options.loadProgram());
      await engine.arm();
      telemetry.watchStalls();
    },
  );
  const onStored = async () => void (await gate.check());
  const provider = createModelProvider({ environment, store, kv, egress, onStored });
  closer.add(() => provider.close());
  const getProvider = async (): Promise<ProviderInUse> => {
    const provided = await provider.get();
    telemetry.sawProvider(provided);
    return provided;
  };
  const callModel = options.callModel ?? createModelClient(getProvider, telemetry.modelHeaders);
  return { gate, provider, callModel, hasCompletedRun };
}
