import { useQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import { useBox } from '../../app/box.ts';

export interface Probes {
  isReady: boolean;
  parts: { name: string; text: string; isGood: boolean }[];
}

/**
 * What the box says of each subsystem; a box that is not ready answers it too. No event announces it: it is asked at each
 * visit, when the stream of events is back, and when a person asks again.
 */
export function useProbes() {
  const { fetch, events } = useBox();
  const probes = useQuery({
    queryKey: ['health.check'],
    refetchOnMount: 'always',
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
  const { refetch } = probes;
  useEffect(() => events.onState(() => void (events.state() === 'open' && refetch())), [events, refetch]);
  return probes;
}

// --- internal ---

interface Report {
  status: 'ok' | 'degraded';
  checks: Record<string, { status: 'ok' | 'failed'; reason?: string; warning?: string }>;
}
