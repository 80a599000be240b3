import type { Manifest } from '@svc/runtime/host';
import { emitRegister, headerOf, specifierOf } from './_text.ts';

/** `.svc/agents.d.ts`: the agents by name. An agent with a problem keeps its name, so that its callers stay whole. */
export function emitAgentsTypes({ agents }: Manifest): string {
  const imports = agents.flatMap(({ file, problem }, i) =>
    problem ? [] : [`import type * as a${i} from ${specifierOf(file)};`],
  );
  const members = agents.map(({ name, problem }, i) => {
    return `    ${JSON.stringify(name)}: ${problem ? 'unknown' : `typeof a${i}.default`};`;
  });
  const parts = [
    headerOf('deep-agents/'),
    ...imports,
    '',
    emitRegister('AgentRegister', members),
    '',
    'export {};',
    '',
  ];
  return parts.join('\n');
}
