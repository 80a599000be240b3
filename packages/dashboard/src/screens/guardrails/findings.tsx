import type { OperationOutput } from '@svc/runtime/client';
import { Badge } from '../../ui/badge.tsx';
import type { Tone } from '../../ui/badge.tsx';
import type { Column } from '../../ui/table.tsx';
import { ACTION_TONES } from './rule.ts';

export type DryRun = OperationOutput<'guardrails.test'>;
export type Finding = DryRun['hits'][number];

export const VERDICTS: Record<DryRun['verdict'], readonly [tone: Tone, sentence: string]> = {
  pass: ['good', 'It passes as it is'],
  mask: ['accent', 'It passes, with what was found replaced'],
  hold: ['warn', 'It waits for an operator'],
  block: ['bad', 'It is blocked'],
};

/** What rules have found. */
export const FINDING_COLUMNS: readonly Column<Finding>[] = [
  { title: 'Rule', cell: ({ ruleName }) => <bdi className="wrap-anywhere">{ruleName}</bdi> },
  { title: 'Does', cell: ({ action }) => <Badge tone={ACTION_TONES[action]}>{action}</Badge> },
  { title: 'Found', end: true, cell: ({ count }) => count },
  {
    title: 'Reason',
    cell: ({ reason, isApplied }) => (
      <>
        <bdi className="wrap-anywhere">{reason ?? ''}</bdi> {!isApplied && <Badge tone="warn">not applied</Badge>}
      </>
    ),
  },
];
