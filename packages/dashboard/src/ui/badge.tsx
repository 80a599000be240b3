import type { ReactNode } from 'react';

export type Tone = 'neutral' | 'good' | 'warn' | 'bad' | 'accent';

const TONES: Record<Tone, string> = {
  neutral: 'bg-raised text-text',
  good: 'bg-good-soft text-good',
  warn: 'bg-warn-soft text-warn',
  bad: 'bg-bad-soft text-bad',
  accent: 'bg-accent-soft text-accent',
};

export function Badge({ tone = 'neutral', children }: { tone?: Tone; children: ReactNode }) {
  return (
    <span
      className={`inline-block max-w-full rounded px-1.5 py-0.5 text-xs font-medium whitespace-nowrap ${TONES[tone]}`}
    >
      {children}
    </span>
  );
}

const OF_STATUS: Record<string, Tone> = {
  completed: 'good',
  delivered: 'good',
  approved: 'good',
  ok: 'good',
  running: 'accent',
  waiting: 'warn',
  pending: 'warn',
  blocked: 'warn',
  paused: 'warn',
  retrying: 'warn',
  failed: 'bad',
  rejected: 'bad',
  error: 'bad',
};

/** The state of a run, a step, an approval. */
export function Status({ value }: { value: string }) {
  return <Badge tone={OF_STATUS[value] ?? 'neutral'}>{value.replaceAll('_', ' ')}</Badge>;
}
