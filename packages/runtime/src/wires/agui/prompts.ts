import { z } from 'zod';
import { requirePermission } from '../../auth/caller.ts';
import type { Caller } from '../../auth/caller.ts';
import type { PinnedVersion } from '../../engine/box-marks.ts';
import { BoxError } from '../../errors.ts';
import { pinVersion } from '../../prompts/pinned.ts';
import type { Prompts } from '../../prompts/prompts.ts';
import { parseWith } from '../../schema/schema.ts';
import type { RunAgentInput } from './input.ts';

/**
 * The versions of prompts that a turn is to use in place of the published ones: `forwardedProps.svc.prompts`, an object of
 * versions by the ids of the prompts, for who may write prompts. Throws `forbidden`, `invalid_request`, `prompt_not_found`,
 * and `prompt_version_not_found`.
 */
export async function pinAsked(
  prompts: Pick<Prompts, 'get' | 'getVersion'>,
  { forwardedProps }: Pick<RunAgentInput, 'forwardedProps'>,
  caller: Caller,
): Promise<PinnedVersion[]> {
  const { svc } = Object(forwardedProps) as { svc?: unknown };
  const { prompts: asked } = Object(svc) as { prompts?: unknown };
  if (asked === undefined || asked === null) return [];
  requirePermission(caller, 'config:write');
  const parsed = await parseWith(Asked, asked);
  if (!parsed.ok)
    throw new BoxError(
      'invalid_request',
      `"forwardedProps.svc.prompts" is an object of at most ${MOST} versions by the ids of their prompts: {"<id>": 2}.`,
      { details: { param: 'forwardedProps', issues: parsed.issues } },
    );
  const chosen = Object.entries(parsed.value as z.infer<typeof Asked>);
  return Promise.all(chosen.map(([promptId, version]) => pinVersion(prompts, { promptId, version })));
}

// --- internal ---

const MOST = 10;
const Asked = z
  .record(z.string().max(64), z.int().min(1).max(2_147_483_647))
  .refine((all) => Object.keys(all).length <= MOST, `has more than ${MOST} members`);
