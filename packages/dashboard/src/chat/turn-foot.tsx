import { memo, useState } from 'react';
import { useList } from '../api/queries.ts';
import { Answer } from '../ui/answer.tsx';
import { Link } from '../ui/link.tsx';
import { More } from '../ui/more.tsx';
import { toDuration } from '../ui/time.tsx';
import type { Turn } from './thread.ts';
import { toCount } from '../ui/count.ts';

/** What a turn has taken, step by step, and its run. */
export const TurnFoot = memo(function TurnFoot({ runId, turn }: { runId: string; turn: Turn | undefined }) {
  const [isOpen, setOpen] = useState(false);
  if (runId === '') return null;
  return (
    <div className="text-xs text-muted">
      <p className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <Link to={`/runs/${runId}`}>Run</Link>
        {turn?.endedAt !== undefined && (
          <span className="tabular-nums">{toDuration(turn.endedAt - turn.startedAt)}</span>
        )}
        {turn && turn.inputTokens + turn.outputTokens > 0 && (
          <span className="tabular-nums">
            {toCount(turn.inputTokens)} tokens in, {toCount(turn.outputTokens)} out
          </span>
        )}
        <button type="button" className="underline" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          Steps
        </button>
      </p>
      {isOpen && <Steps runId={runId} />}
    </div>
  );
});

// --- internal ---

function Steps({ runId }: { runId: string }) {
  const steps = useList('runs.steps', { id: runId, limit: 200 });
  return (
    <Answer of={{ ...steps, data: steps.items }} rows={2}>
      {(items) => (
        <>
          <table className="mt-1 border-collapse text-left" aria-label="Steps of the turn">
            <tbody>
              {items.map((step) => (
                <tr key={step.stepId}>
                  <td className="pr-4">{step.kind}</td>
                  <td className="pr-4 wrap-anywhere">{step.name}</td>
                  <td className="pr-4 text-right tabular-nums">
                    {step.endedAt === null ? '' : toDuration(Date.parse(step.endedAt) - Date.parse(step.startedAt))}
                  </td>
                  <td className="text-right tabular-nums">
                    {step.totalTokens > 0 && `${toCount(step.inputTokens)} in, ${toCount(step.outputTokens)} out`}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
          <More has={steps.hasNextPage} busy={steps.isFetchingNextPage} onMore={() => void steps.fetchNextPage()} />
        </>
      )}
    </Answer>
  );
}
