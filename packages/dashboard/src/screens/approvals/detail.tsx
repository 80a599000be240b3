import { useState } from 'react';
import type { ReactNode } from 'react';
import { useCall, useChange } from '../../api/queries.ts';
import { useBox, useMay } from '../../app/box.ts';
import { Deadline } from '../../chat/deadline.tsx';
import { ApproveWithNote, EditArguments, Reject } from '../../chat/pause-card.tsx';
import { Value } from '../../chat/value.tsx';
import { Answer } from '../../ui/answer.tsx';
import { Status } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Failure } from '../../ui/failure.tsx';
import { Link } from '../../ui/link.tsx';
import { Time } from '../../ui/time.tsx';
import { toast } from '../../ui/toast.tsx';
import { ACTIONS, toCall } from './approval.ts';
import type { Approval } from './approval.ts';
import { isAmong } from './approvers.ts';
import { Held } from './held.tsx';
import { useKeys } from './keys.ts';

export interface DetailProps {
  id: string;
  /** As the list has it, where that has all of it. */
  known: Approval | undefined;
  onDecided(): void;
}

export function Detail({ id, known, onDecided }: DetailProps) {
  const asked = useCall('approvals.get', { id }, { enabled: known === undefined });
  return (
    <section aria-label="What is asked" className="min-w-0 rounded-lg border border-line bg-panel p-4">
      <Answer of={known ? { ...asked, data: known, error: undefined } : asked}>
        {(approval) => <Shown approval={approval} onDecided={onDecided} />}
      </Answer>
    </section>
  );
}

// --- internal ---

function Shown({ approval, onDecided }: { approval: Approval; onDecided(): void }) {
  const { title, description, source, runId, sessionId, status, expiresAt, approvers, audit, note } = approval;
  const call = toCall(approval);
  return (
    <>
      <div className="flex flex-wrap items-center gap-2">
        <h2 dir="auto" className="min-w-0 flex-1 text-base font-semibold wrap-anywhere">
          {title}
        </h2>
        <Status value={status} />
      </div>
      {description !== null && (
        <p dir="auto" className="mt-1 wrap-anywhere whitespace-pre-wrap">
          {description}
        </p>
      )}
      {status === 'pending' && expiresAt !== null && <Deadline at={expiresAt} />}
      <dl className="mt-3 grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-1">
        <Row name="Asked by">
          {source !== 'workflow' && call ? (
            <>
              {source === 'guardrail' && 'a guardrail, of '}a call of <code>{call.tool}</code>
            </>
          ) : (
            `a ${source}`
          )}
        </Row>
        <Row name="Run">
          <Link to={`/runs/${runId}`}>{runId}</Link>
        </Row>
        {sessionId !== null && (
          <Row name="Session">
            <Link to={`/sessions/${sessionId}`}>{sessionId}</Link>
          </Row>
        )}
        {approvers && <Row name="Decided by">{approvers.join(', ')}</Row>}
        {note !== null && <Row name="Note">{note}</Row>}
      </dl>
      <div className="mt-3">
        {source === 'guardrail' && !call ? (
          <Held approval={approval} />
        ) : (
          <Value
            label={call ? 'Arguments' : 'Payload'}
            text={JSON.stringify(call ? call.args : approval.payload) ?? 'null'}
            isWhole
          />
        )}
      </div>
      {status === 'pending' && (
        <Decide approval={approval} args={call ? call.args : approval.payload} onDecided={onDecided} />
      )}
      <h3 className="mt-4 font-medium">What happened</h3>
      <ol className="mt-1 space-y-1 text-muted">
        {audit.map(({ at, action, by }) => (
          <li key={`${at} ${action}`}>
            {ACTIONS[action] ?? action}
            {by !== null && (
              <>
                {' '}
                by <bdi>{by}</bdi>
              </>
            )}
            , <Time at={at} />
          </li>
        ))}
      </ol>
    </>
  );
}

interface Decision {
  decision: 'approve' | 'reject';
  note?: string;
  input?: unknown;
}

function Decide({ approval, args, onDecided }: { approval: Approval; args: unknown; onDecided(): void }) {
  const { approvalId: id, allow, argsDigest, title } = approval;
  const mayDecide = useMay()('hitl:decide');
  const isAsked = isAmong(approval.approvers, useBox().bootstrap);
  const may = mayDecide && isAsked;
  const [way, setWay] = useState<'approve' | 'edit' | 'reject'>();
  const change = useChange('approvals.decide', ['approvals', 'runs', 'sessions']);
  const decide = (decision: Decision): void => {
    // Arguments that have changed since they were shown are not decided about.
    const shown = argsDigest === null ? {} : { argsDigest };
    change.mutate(
      { id, ...decision, ...shown },
      {
        onSuccess() {
          toast(`${decision.decision === 'approve' ? 'Approved' : 'Rejected'}: ${title}`);
          onDecided();
        },
      },
    );
  };
  const allows = (what: 'approve' | 'edit' | 'reject'): boolean => may && (allow?.includes(what) ?? true);
  const isFree = !change.isPending && way === undefined;
  useKeys({
    ...(isFree && allows('approve') ? { approve: () => decide({ decision: 'approve' }) } : {}),
    ...(isFree && allows('edit') ? { edit: () => setWay('edit') } : {}),
    ...(isFree && allows('reject') ? { reject: () => setWay('reject') } : {}),
  });
  if (mayDecide && !isAsked)
    return <p className="mt-3 text-muted">You are not one of those who decide this: they are named above.</p>;
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
          args={args}
          busy={change.isPending}
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
      {change.error && <Failure error={change.error} />}
    </div>
  );
}

function Row({ name, children }: { name: string; children: ReactNode }) {
  return (
    <>
      <dt className="text-muted">{name}</dt>
      <dd className="min-w-0 wrap-anywhere">{children}</dd>
    </>
  );
}
