import { useState } from 'react';
import { useChange } from '../../api/queries.ts';
import { useBox, useMay } from '../../app/box.ts';
import { isAmong } from '../../chat/approvers.ts';
import { Elsewhere } from '../../chat/elsewhere.tsx';
import { EditArguments } from '../../chat/edit-arguments.tsx';
import { ApproveWithNote, Reject } from '../../chat/note.tsx';
import { readIssues } from '../../form/issues.ts';
import { Button } from '../../ui/button.tsx';
import { Failure } from '../../ui/failure.tsx';
import { toast } from '../../ui/toast.tsx';
import { askedOf } from './approval.ts';
import type { Approval } from './approval.ts';
import { useKeys } from './keys.ts';

export interface DecideProps {
  approval: Approval;
  onDecided?(): void;
  /** Single keys decide, wherever the focus is. Default: they do not. */
  hasKeys?: boolean;
}

/** The buttons of an approval that waits, for who may decide it. */
export function Decide({ approval, onDecided, hasKeys = false }: DecideProps) {
  const { approvalId: id, allow, argsDigest, title } = approval;
  const { args } = askedOf(approval);
  const mayDecide = useMay()('hitl:decide');
  const isAsked = isAmong(approval.approvers, useBox().bootstrap);
  const may = mayDecide && isAsked;
  const [way, setWay] = useState<'approve' | 'edit' | 'reject'>();
  const change = useChange('approvals.decide', ['approvals', 'runs', 'sessions']);
  const decide = (decision: Decision): void => {
    // Arguments that have changed since they were shown are not decided about.
    const shown = argsDigest === null ? {} : { argsDigest };
    // The page may hear of the decision before its answer is here, and this is gone by then: so not by callbacks of `mutate`.
    change.mutateAsync({ id, ...decision, ...shown }).then(
      () => {
        toast(`${decision.decision === 'approve' ? 'Approved' : 'Rejected'}: ${title}`);
        onDecided?.();
      },
      // It is shown below.
      () => {},
    );
  };
  const allows = (what: 'approve' | 'edit' | 'reject'): boolean => may && (allow?.includes(what) ?? true);
  const isFree = hasKeys && !change.isPending && way === undefined;
  useKeys({
    ...(isFree && allows('approve') ? { approve: () => decide({ decision: 'approve' }) } : {}),
    ...(isFree && allows('edit') ? { edit: () => setWay('edit') } : {}),
    ...(isFree && allows('reject') ? { reject: () => setWay('reject') } : {}),
  });
  if (mayDecide && !isAsked) return <Elsewhere approvers={approval.approvers ?? []} />;
  if (!may) return <p className="mt-3 text-muted">An approver, an admin or an owner decides this.</p>;
  return (
    <div className="mt-3">
      {way === undefined && (
        <div className="flex flex-wrap gap-2">
          {allows('approve') && (
            <Button look="primary" busy={change.isPending} onClick={() => decide({ decision: 'approve' })}>
              Approve
            </Button>
          )}
          {allows('approve') && (
            <Button busy={change.isPending} onClick={() => setWay('approve')}>
              Approve with a note
            </Button>
          )}
          {allows('edit') && (
            <Button busy={change.isPending} onClick={() => setWay('edit')}>
              {approval.source !== 'workflow' ? 'Edit arguments' : 'Approve with input'}
            </Button>
          )}
          {allows('reject') && (
            <Button look="danger" busy={change.isPending} onClick={() => setWay('reject')}>
              Reject
            </Button>
          )}
        </div>
      )}
      {way === 'edit' && (
        <EditArguments
          approvalId={id}
          args={args}
          busy={change.isPending}
          refused={change.error}
          onCancel={() => setWay(undefined)}
          onSend={(input, note) => decide({ decision: 'approve', input, ...note })}
        />
      )}
      {way === 'approve' && (
        <ApproveWithNote
          busy={change.isPending}
          onCancel={() => setWay(undefined)}
          onSend={(note) => decide({ decision: 'approve', ...note })}
        />
      )}
      {way === 'reject' && (
        <Reject
          busy={change.isPending}
          onCancel={() => setWay(undefined)}
          onSend={(note) => decide({ decision: 'reject', ...note })}
        />
      )}
      {change.error && !isOfFields(change.error) && <Failure error={change.error} />}
    </div>
  );
}

// --- internal ---

interface Decision {
  decision: 'approve' | 'reject';
  note?: string;
  input?: unknown;
}

/** What is wrong is said at the fields of the form. */
function isOfFields(error: unknown): boolean {
  return readIssues((error as { details?: unknown }).details) !== undefined;
}
