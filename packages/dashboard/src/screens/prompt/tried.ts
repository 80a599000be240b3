import type { OperationOutput } from '@svc/runtime/client';

type Prompt = Pick<OperationOutput<'prompts.get'>, 'id' | 'ownerKind' | 'ownerName'>;

/** Where a version is tried that is not in force. Undefined: no agent is asked with it, a workflow reads it. */
export function toTrial({ id, ownerKind, ownerName }: Prompt, version: number) {
  if (ownerKind === 'workflow') return undefined;
  const agent = ownerKind === 'agent' ? rootOf(ownerName) : undefined;
  return { to: '/playground', search: { agent, prompt: `${id}@${version}` } };
}

/** The agent that a person talks to: a sub-agent is `<agent>/<name>`. */
export function rootOf(agent: string): string {
  return agent.split('/')[0] ?? agent;
}
