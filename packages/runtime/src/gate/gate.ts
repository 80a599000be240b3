export type GateReason = 'model-provider-env' | 'model-provider-stored' | 'first-run-completed' | 'no-model-provider';

export interface GateState {
  open: boolean;
  reason: GateReason;
}

export interface GateSources {
  providerInEnvironment: boolean;
  isProviderStored(): Promise<boolean>;
  hasCompletedRun(): Promise<boolean>;
}

/** Holds agents and workflows back until there is something they can run with. */
export interface Gate {
  state(): GateState;
  /** Looks again; opens when a reason to has come, and never closes. */
  check(): Promise<GateState>;
  /** Resolves once it is open. */
  opened: Promise<void>;
  /** Resolves once it has looked for the first time, or could not; undefined from then on. */
  looking(): Promise<void> | undefined;
}

/** @param onOpen runs once, before `check` answers an open gate */
export function createGate(sources: GateSources, onOpen: () => Promise<void>): Gate {
  let state: GateState = { open: false, reason: 'no-model-provider' };
  let checking: Promise<unknown> = Promise.resolve();
  let resolveOpened = (): void => {};
  const opened = new Promise<void>((resolve) => (resolveOpened = resolve));
  let resolveLooked = (): void => {};
  let looking: Promise<void> | undefined = new Promise<void>((resolve) => (resolveLooked = resolve));
  const check = async (): Promise<GateState> => {
    if (state.open) return state;
    const reason = await findReason(sources);
    if (reason === 'no-model-provider') return state;
    await onOpen();
    state = { open: true, reason };
    resolveOpened();
    return state;
  };
  return {
    state: () => state,
    opened,
    looking: () => looking,
    check() {
      // One after the other: a check under way may have looked before the reason came.
      const checked = checking.then(check);
      checking = checked
        .catch(() => {})
        .then(() => {
          looking = undefined;
          resolveLooked();
        });
      return checked;
    },
  };
}

// --- internal ---

async function findReason(sources: GateSources): Promise<GateReason> {
  if (sources.providerInEnvironment) return 'model-provider-env';
  if (await sources.isProviderStored()) return 'model-provider-stored';
  if (await sources.hasCompletedRun()) return 'first-run-completed';
  return 'no-model-provider';
}
