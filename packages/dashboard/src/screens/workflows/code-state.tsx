import { Badge } from '../../ui/badge.tsx';

export interface CodeProblem {
  code: string;
  message: string;
  file: string;
  line: number;
  column: number;
  frame: string;
}

const TONES = { ready: 'good', ok: 'good', stale: 'warn', failed: 'bad' } as const;
const WORDS = { ready: 'ready', ok: 'ready', stale: 'old version', failed: 'does not load' } as const;

/** Whether the code of an agent or a workflow loads. */
export function CodeState({ state, problem }: { state: keyof typeof WORDS; problem: CodeProblem | null }) {
  return (
    <span title={problem?.message}>
      <Badge tone={TONES[state]}>{WORDS[state]}</Badge>
    </span>
  );
}

/** Why code does not load: the sentence, the place, and the lines around it. */
export function CodeProblemCard({ problem }: { problem: CodeProblem }) {
  return (
    <div role="alert" className="mb-4 rounded-lg border border-bad bg-bad-soft px-4 py-3">
      <p className="font-medium wrap-anywhere text-bad">{problem.message}</p>
      <p className="mt-1 text-xs">
        <code>{problem.code}</code> ·{' '}
        <code className="wrap-anywhere">{`${problem.file}:${problem.line}:${problem.column}`}</code>
      </p>
      {problem.frame && (
        <pre tabIndex={0} aria-label="The lines around it" className="mt-2 overflow-x-auto font-mono text-xs">
          {problem.frame}
        </pre>
      )}
    </div>
  );
}
