import type { PinnedVersion } from '../engine/box-marks.ts';
import type { Prompts } from './prompts.ts';
import type { PromptKey, PublishedPrompt } from './store.ts';

/** A version of a prompt by its id. Throws `prompt_not_found` and `prompt_version_not_found`. */
export async function pinVersion(
  prompts: Pick<Prompts, 'get' | 'getVersion'>,
  { promptId, version }: Pick<PinnedVersion, 'promptId' | 'version'>,
): Promise<PinnedVersion> {
  const { ownerKind, ownerName, key } = await prompts.get(promptId);
  await prompts.getVersion(promptId, version);
  return { promptId, version, ownerKind, ownerName, key };
}

/** The version that stands for what is published under that key. Undefined: none does, or its prompt was deleted. */
export async function findPinned(
  prompts: Pick<Prompts, 'findText'>,
  pinned: readonly PinnedVersion[],
  { ownerKind, ownerName, key }: PromptKey,
): Promise<PublishedPrompt | undefined> {
  const found = pinned.find((one) => one.ownerKind === ownerKind && one.ownerName === ownerName && one.key === key);
  if (!found) return undefined;
  const { promptId, version } = found;
  const text = await prompts.findText(promptId, version);
  return text === undefined ? undefined : { promptId, version, text };
}
