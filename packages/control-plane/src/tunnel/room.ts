import { PlaneError } from '../errors.ts';
import type { Grant } from './grants.ts';
import type { RelayLimits } from './limits.ts';

/**
 * Throws `tunnel_busy` where a tunnel would be one too many of its person, or of the relay. One that takes the place of an
 * open one adds none.
 */
export function requireRoom(
  { name, installationId, holder: { userId } }: Grant,
  open: readonly Grant[],
  { tunnels, tunnelsOfPerson }: Pick<RelayLimits, 'tunnels' | 'tunnelsOfPerson'>,
): void {
  const others = open.filter((one) => one.name !== name && one.installationId !== installationId);
  const own = others.filter(({ holder }) => holder.userId === userId);
  if (own.length >= tunnelsOfPerson) throw tooMany(`You have ${own.length} tunnels open. Close one first.`);
  if (others.length >= tunnels) throw tooMany('This control plane holds as many tunnels as it may.');
}

// --- internal ---

function tooMany(message: string): PlaneError {
  return new PlaneError('tunnel_busy', message, { headers: { 'retry-after': '60' } });
}
