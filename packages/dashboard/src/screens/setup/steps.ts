import type { OperationOutput } from '@svc/runtime/client';
import type { Bootstrap } from '../../app/bootstrap.ts';
import type { Probes } from '../health/probes.ts';

export type StepId = 'box' | OperationOutput<'settings.setup'>['steps'][number]['id'] | 'code';

export interface Step {
  id: StepId;
  title: string;
  isDone: boolean;
  /** It is seen whether it is done once those before it are. */
  isLater?: boolean;
  /** What is wrong with what is there. */
  problem?: string | undefined;
}

export interface Known {
  setup: OperationOutput<'settings.setup'>;
  /** Undefined: not answered yet. */
  probes: Probes | undefined;
  names: OperationOutput<'discovery.get'> | undefined;
}

/** What a box needs before something runs, in the order in which it is done. */
export function toSteps({ setup, probes, names }: Known): Step[] {
  const failed = probes?.parts.filter(({ isGood }) => !isGood) ?? [];
  const ofBox = (id: 'provider' | 'default-model' | 'first-run'): Step => {
    const step = setup.steps.find((each) => each.id === id);
    return { id, title: TITLES[id], isDone: step?.done ?? false, problem: step?.problem };
  };
  return [
    {
      id: 'box',
      title: TITLES.box,
      isDone: probes?.isReady ?? false,
      problem: failed.length === 0 ? undefined : failed.map(({ name, text }) => `${name}: ${text}`).join(', '),
    },
    ofBox('provider'),
    ofBox('default-model'),
    {
      id: 'code',
      title: TITLES.code,
      isDone: (names?.agents.length ?? 0) + (names?.workflows.length ?? 0) > 0,
      // A box that is held back has loaded no code.
      isLater: !setup.gate.open,
    },
    ofBox('first-run'),
  ];
}

/** Commands that do a step where the box runs, to be copied; `said` is what they are for. */
export interface Way {
  said: string;
  commands?: readonly string[];
}

/** How a step is done outside of this page, in the place that the box is run in. */
export const WAYS: Record<Bootstrap['place'], Record<'provider' | 'code', Way>> = {
  dev: {
    provider: {
      said: 'Or put MODEL_PROVIDER_BASE_URL and MODEL_PROVIDER_API_KEY into .env of the workspace, and start svc dev again.',
    },
    code: {
      said: 'In the folder of the workspace; what is written there is served as soon as it is saved.',
      commands: ['svc add agent support', 'svc add workflow welcome'],
    },
  },
  standalone: {
    provider: {
      said: 'Or put MODEL_PROVIDER_BASE_URL and MODEL_PROVIDER_API_KEY into .env of the deploy folder, and start the box with it.',
      commands: ['docker compose up -d'],
    },
    code: {
      said: 'In the folder of the workspace, which is then packaged, and brought up in the deploy folder as its README says.',
      commands: ['svc add agent support', 'svc package --target self-host'],
    },
  },
  full: {
    provider: {
      said: 'Or set MODEL_PROVIDER_BASE_URL and MODEL_PROVIDER_API_KEY in the environment of the box, and start it again.',
    },
    code: {
      said: 'In the folder of the workspace, which is then packaged and deployed where the box runs.',
      commands: ['svc add agent support', 'svc package --target byoc'],
    },
  },
};

// --- internal ---

const TITLES: Record<StepId, string> = {
  box: 'The box reaches its stores',
  provider: 'Set the model provider',
  'default-model': 'Choose the default model',
  code: 'Add an agent or a workflow',
  'first-run': 'Let something run',
};
