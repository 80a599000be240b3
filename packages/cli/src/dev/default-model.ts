import type { Box } from '@svc/runtime/host';

interface SetupStep {
  id: string;
  /** What is wrong with what was chosen. */
  problem?: string;
}

/** A line about a default model that the provider does not list; undefined: it does, or does not say what it has. */
export async function findModelProblem(box: Pick<Box, 'request'>): Promise<string | undefined> {
  const answer = await box.request('/api/settings/setup');
  if (!answer.ok) return undefined;
  const { steps } = (await answer.json()) as { steps: SetupStep[] };
  const problem = steps.find(({ id }) => id === 'default-model')?.problem;
  return problem && `${problem} Take one of \`svc provider models\` as "model" in svc.config.ts.`;
}
