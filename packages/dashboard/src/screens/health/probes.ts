import { useQuery } from '@tanstack/react-query';
import { useBox } from '../../app/box.ts';

export interface Probes {
  isReady: boolean;
  parts: { name: string; text: string; isGood: boolean }[];
}

/** What the box says of each subsystem; a box that is not ready answers it too. */
export function useProbes() {
  const { fetch } = useBox();
  return useQuery({
    queryKey: ['health.check'],
    queryFn: async ({ signal }): Promise<Probes> => {
      const answer = await fetch('/health', { signal });
      const { status, checks } = (await answer.json()) as Report;
      return {
        isReady: status === 'ok',
        parts: Object.entries(checks).map(([name, check]) => ({
          name,
          text: check.reason ?? check.warning ?? check.status,
          isGood: check.status === 'ok',
        })),
      };
    },
  });
}

// --- internal ---

interface Report {
  status: 'ok' | 'degraded';
  checks: Record<string, { status: 'ok' | 'failed'; reason?: string; warning?: string }>;
}
