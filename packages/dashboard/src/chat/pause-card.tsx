import { useId, useState } from 'react';
import type { AgentInterrupt } from '@svc/runtime/client';
import { Button } from '../ui/button.tsx';
import { Link } from '../ui/link.tsx';
import { Deadline } from './deadline.tsx';
import { EditArguments } from './edit-arguments.tsx';
import { Elsewhere } from './elsewhere.tsx';
import { ApproveWithNote, Reject } from './note.tsx';

export interface PauseDecision {
  decision: 'approve' | 'edit' | 'reject';
  note?: string;
  input?: unknown;
}

export interface PauseCardProps {
  interrupt: AgentInterrupt;
  /** What was chosen, while others are not decided yet. */
  chosen: PauseDecision | undefined;
  busy: boolean;
  /** False: the role of the person does not decide. */
  may: boolean;
  /** Those who are asked, where the person is none of them. */
  others?: readonly string[] | undefined;
  /** It is not known yet who is asked. */
  isOpening?: boolean;
  /** Why what was decided last was not taken. */
  refused?: unknown;
  onDecide(decision: PauseDecision): void;
}

/** A call that waits for a person: approved, approved with other arguments, or rejected with a note. */
export function PauseCard(props: PauseCardProps) {
  const { interrupt, chosen, busy, refused, onDecide, others, isOpening = false } = props;
  const may = props.may && !others && !isOpening;
  const { message, expiresAt, metadata } = interrupt;
  const { allow = ['approve', 'edit', 'reject'], arguments: args } = (metadata?.svc ?? {}) as Asked;
  const [way, setWay] = useState<'approve' | 'edit' | 'reject'>();
  const heading = useId();
  return (
    <section aria-labelledby={heading} className="rounded border border-warn bg-warn-soft px-3 py-2">
      <p id={heading} className="font-medium wrap-anywhere text-warn">
        {message}
      </p>
      {expiresAt !== undefined && <Deadline at={expiresAt} />}
      {props.may && others && <Elsewhere approvers={others} />}
      {!props.may && <p className="mt-1 text-text">An approver, an admin or an owner decides this.</p>}
      {may && chosen && (
        <p className="mt-1 text-text">
          You chose: {chosen.decision}. It is sent once all are decided. Where another one is not yours to decide,
          decide this one under <Link to="/approvals">Approvals</Link>.
        </p>
      )}
      {may && !chosen && !way && (
        <div className="mt-2 flex flex-wrap gap-2">
          {allow.includes('approve') && (
            <Button look="primary" busy={busy} onClick={() => onDecide({ decision: 'approve' })}>
              Approve
            </Button>
          )}
          {allow.includes('approve') && (
            <Button busy={busy} onClick={() => setWay('approve')}>
              Approve with a note
            </Button>
          )}
          {allow.includes('edit') && (
            <Button busy={busy} onClick={() => setWay('edit')}>
              Edit arguments
            </Button>
          )}
          {allow.includes('reject') && (
            <Button look="danger" busy={busy} onClick={() => setWay('reject')}>
              Reject
            </Button>
          )}
        </div>
      )}
      {may && !chosen && way === 'edit' && (
        <EditArguments
          approvalId={interrupt.id}
          args={args}
          busy={busy}
          refused={refused}
          onCancel={() => setWay(undefined)}
          onSend={(input, note) => onDecide({ decision: 'edit', input, ...note })}
        />
      )}
      {may && !chosen && way === 'approve' && (
        <ApproveWithNote
          busy={busy}
          onCancel={() => setWay(undefined)}
          onSend={(note) => onDecide({ decision: 'approve', ...note })}
        />
      )}
      {may && !chosen && way === 'reject' && (
        <Reject
          busy={busy}
          onCancel={() => setWay(undefined)}
          onSend={(note) => onDecide({ decision: 'reject', ...note })}
        />
      )}
    </section>
  );
}

// --- internal ---

interface Asked {
  allow?: readonly string[];
  arguments?: unknown;
}
