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
  /** What is said of it without the card being opened. */
  words?: CallWords | undefined;
  /** What asks a person about it. */
  pause?: ReactNode;
}

export interface Outcome {
  text: string;
  /** `asks`: it has done nothing, and asks a person first. */
  is: 'done' | 'refused' | 'asks';
}

/** How an agent's calls are spoken of. */
export interface CallWords {
  /** What is called, and with what. Undefined: the tool, with its arguments. */
  toCalled(call: ChatToolCall): { name: string; args: string } | undefined;
  /** Its outcome in a line. Undefined: nothing that is worth one. */
  toOutcome(call: ChatToolCall, result: string): Outcome | undefined;
}

/** A call of a tool: its arguments as they grow, and the outcome of it. */
export const ToolCard = memo(function ToolCard(props: ToolCardProps) {
  const { call, isOpen, isLive, result, isWaiting, words, pause } = props;
  const outcome = useMemo(
    () => (result === undefined ? undefined : words?.toOutcome(call, toText(result))),
    [call, result, words],
  );
  const called = useMemo(() => (isOpen ? undefined : words?.toCalled(call)), [call, isOpen, words]);
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
        <code className="font-medium">{called?.name ?? name}</code>
        <span className="min-w-0 flex-1 truncate font-mono text-xs text-muted">
          {isShown ? '' : (called?.args ?? args).slice(0, 200)}
        </span>
        <State
          isOpen={isOpen}
          isPaused={isWaiting}
          came={result === undefined ? undefined : (outcome?.is ?? 'done')}
          isLive={isLive}
        />
      </button>
      {outcome && (
        <p
          dir="auto"
          className={`px-3 pb-2 text-xs wrap-anywhere ${outcome.is === 'refused' ? 'text-bad' : 'text-muted'}`}
        >
          {outcome.text}
        </p>
      )}
      {isShown && (
        <div className="space-y-2 border-t border-line px-3 py-2">
          <Value label={called ? `Arguments of ${name}` : 'Arguments'} text={args} isWhole={!isOpen} />
          {result !== undefined && <Value label="Result" text={toText(result)} isWhole />}
          {pause}
        </div>
      )}
    </div>
  );
});

// --- internal ---

interface StateProps extends Record<'isOpen' | 'isPaused' | 'isLive', boolean> {
  came: Outcome['is'] | undefined;
}

function State({ isOpen, isPaused, came, isLive }: StateProps) {
  if (isPaused) return <Badge tone="warn">waits for you</Badge>;
  if (came === 'refused') return <Badge tone="bad">refused</Badge>;
  if (came === 'asks') return <Badge tone="warn">asks first</Badge>;
  if (came) return <Badge tone="good">done</Badge>;
  if (isOpen) return <Badge tone="accent">writing</Badge>;
  return isLive ? <Badge tone="accent">running</Badge> : <Badge>no result</Badge>;
}
