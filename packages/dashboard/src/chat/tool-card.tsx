import { memo, useMemo, useState } from 'react';
import type { ReactNode } from 'react';
import { Badge } from '../ui/badge.tsx';
import { toText } from './message.ts';
import type { ChatContent, ChatToolCall } from './message.ts';
import { Value } from './value.tsx';

export interface ToolCardProps {
  call: ChatToolCall;
  /** Its arguments are being written. */
  isOpen: boolean;
  /** Something may still come of it. */
  isLive: boolean;
  result: ChatContent | undefined;
  /** A person is asked about it. */
  isWaiting: boolean;
  /** What came of it, in a line that is shown without the card being opened. */
  toOutcome?: ToOutcome | undefined;
  /** What asks a person about it. */
  pause?: ReactNode;
}

export interface Outcome {
  text: string;
  isRefusal: boolean;
}

export type ToOutcome = (call: ChatToolCall, result: string) => Outcome | undefined;

/** A call of a tool: its arguments as they grow, and what came of it. */
export const ToolCard = memo(function ToolCard(props: ToolCardProps) {
  const { call, isOpen, isLive, result, isWaiting, toOutcome, pause } = props;
  const outcome = useMemo(
    () => (result === undefined ? undefined : toOutcome?.(call, toText(result))),
    [call, result, toOutcome],
  );
  // What happens is shown; what a person has opened or closed stays so.
  const [chosen, setChosen] = useState<boolean>();
  const isShown = chosen ?? (isOpen || pause !== undefined);
  const { name, arguments: args } = call.function;
  return (
    <div className="rounded-lg border border-line bg-panel" data-call={call.id}>
      <button
        type="button"
        aria-expanded={isShown}
        onClick={() => setChosen(!isShown)}
        className="flex w-full min-w-0 items-center gap-2 px-3 py-2 text-left"
      >
        <span aria-hidden className="text-muted">
          {isShown ? '▾' : '▸'}
        </span>
        <code className="font-medium">{name}</code>
        <span className="min-w-0 flex-1 truncate font-mono text-xs text-muted">
          {isShown ? '' : args.slice(0, 200)}
        </span>
        <State isOpen={isOpen} isPaused={isWaiting} isDone={result !== undefined} isLive={isLive} />
      </button>
      {outcome && (
        <p dir="auto" className={`px-3 pb-2 text-xs wrap-anywhere ${outcome.isRefusal ? 'text-bad' : 'text-muted'}`}>
          {outcome.text}
        </p>
      )}
      {isShown && (
        <div className="space-y-2 border-t border-line px-3 py-2">
          <Value label="Arguments" text={args} isWhole={!isOpen} />
          {result !== undefined && <Value label="Result" text={toText(result)} isWhole />}
          {pause}
        </div>
      )}
    </div>
  );
});

// --- internal ---

function State({ isOpen, isPaused, isDone, isLive }: Record<'isOpen' | 'isPaused' | 'isDone' | 'isLive', boolean>) {
  if (isPaused) return <Badge tone="warn">waits for you</Badge>;
  if (isDone) return <Badge tone="good">done</Badge>;
  if (isOpen) return <Badge tone="accent">writing</Badge>;
  return isLive ? <Badge tone="accent">running</Badge> : <Badge>no result</Badge>;
}
