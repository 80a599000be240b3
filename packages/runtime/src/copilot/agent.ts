import { CONFIRM_TOOL } from '../agents/copilot.ts';
import type { HideArguments } from '../approvals/tool-approval.ts';
import type { ReservedAgent } from '../catalog/catalog.ts';
import type { DeepAgentDefinition } from '../definitions/agent.ts';
import { defineDeepAgent } from '../definitions/definition.ts';
import { COPILOT_AGENT } from '../manifest.ts';
import type { Confirmations } from '../mcp/confirmations.ts';
import { createHiddenArguments } from './hidden-arguments.ts';
import { INSTRUCTIONS } from './instructions.ts';
import { createCopilotTools, NAVIGATE } from './tools.ts';
import type { CopilotToolsOptions } from './tools.ts';

export interface CopilotOptions extends Omit<CopilotToolsOptions, 'hidden'> {
  /** For what its calls are recorded without. */
  sealed: Confirmations;
}

export interface Copilot extends ReservedAgent {
  hideArguments: HideArguments;
}

/** The copilot of the dashboard, and what takes its place where a workspace declares one of its name. */
export function createCopilot({ sealed, ...options }: CopilotOptions): Copilot {
  const hidden = createHiddenArguments({ operations: () => options.rooms().operations, sealed });
  const { own, shared } = createCopilotTools({ ...options, hidden });
  const reserved = [...Object.keys(own), NAVIGATE];
  const agent = defineDeepAgent({
    name: COPILOT_AGENT,
    description: 'Reads and changes this installation as the person asking.',
    instructions: INSTRUCTIONS,
    tools: own,
    interruptOn: { [CONFIRM_TOOL]: { by: 'user', title: 'Run this call?', allow: ['approve', 'edit', 'reject'] } },
  }) as DeepAgentDefinition;
  return {
    hideArguments: hidden.hide,
    builtIn: {
      entry: { name: COPILOT_AGENT, file: 'built in' },
      definition: { agent, subagents: new Map(), codeHash: CODE },
    },
    extend(declared) {
      const name = Object.keys(declared.tools ?? {}).find((one) => reserved.includes(one));
      if (name !== undefined)
        throw new Error(
          `The agent "${COPILOT_AGENT}" has a tool "${name}", which is the name of one of the runtime's. Give it another name.`,
        );
      return defineDeepAgent({ ...declared, tools: { ...declared.tools, ...shared } });
    },
  };
}

// --- internal ---

/** Changes where a turn that waits could not go on: the order of its steps. */
const CODE = 'studio-copilot built-in 1';
