import { pinnedPrompts } from '../engine/box-marks.ts';
import type { PromptAnswer, PromptRequest, RunHandle } from '../engine/handle.ts';
import { BoxError } from '../errors.ts';
import { findPinned } from './pinned.ts';
import type { Prompts } from './prompts.ts';
import { stampRead } from './stamp.ts';
import type { PromptKey } from './store.ts';

/** The published prompt that code in a run asks for. The run is marked with the version. Throws `prompt_not_found`. */
export async function readPrompt(
  prompts: Pick<Prompts, 'findPublished' | 'findText'>,
  execution: RunHandle,
  request: PromptRequest,
): Promise<PromptAnswer> {
  const owners = toOwners(execution, request);
  const pinned = pinnedPrompts(execution.run);
  for (const owner of owners) {
    const key = { ...owner, key: request.key };
    const prompt = (await findPinned(prompts, pinned, key)) ?? (await prompts.findPublished(key));
    if (!prompt) continue;
    mark(execution, stampRead(owner.ownerKind, request.key, prompt));
    return prompt;
  }
  const places = owners.map(({ ownerKind, ownerName }) =>
    ownerKind === 'workspace' ? 'the workspace' : `the ${ownerKind} "${ownerName}"`,
  );
  throw new BoxError('prompt_not_found', `No prompt "${request.key}" of ${places.join(' or of ')} is published.`);
}

// --- internal ---

type Owner = Omit<PromptKey, 'key'>;

const WORKSPACE: Owner = { ownerKind: 'workspace', ownerName: '' };

function toOwners({ run }: RunHandle, { owner }: PromptRequest): Owner[] {
  if (owner === 'workspace') return [WORKSPACE];
  if (owner === undefined) return [{ ownerKind: run.kind, ownerName: run.name }, WORKSPACE];
  if ('agent' in owner) return [{ ownerKind: 'agent', ownerName: owner.agent }];
  return [{ ownerKind: 'workflow', ownerName: owner.workflow }];
}

/** A run that has all the marks it may have is none the worse for it. */
function mark(execution: RunHandle, attributes: Record<string, string>): void {
  try {
    execution.setAttributes(attributes);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
  }
}
