import type { ReactNode } from 'react';
import { useCall } from '../../api/queries.ts';
import { Changes } from '../../chat/changes-list.tsx';
import { Deadline } from '../../chat/deadline.tsx';
import { Answer } from '../../ui/answer.tsx';
import { Status } from '../../ui/badge.tsx';
import { Link } from '../../ui/link.tsx';
import { Time } from '../../ui/time.tsx';
import { ACTIONS, askedOf } from './approval.ts';
import type { Approval, ApprovalDetail } from './approval.ts';
import { Asked } from './asked.tsx';
import { Decide } from './decide.tsx';
import { Held } from './held.tsx';

export interface DetailProps {
  id: string;
  /** As the list has it, where that has all of it. */
  known: Approval | undefined;
  onDecided(): void;
}

export function Detail({ id, known, onDecided }: DetailProps) {
  const asked = useCall('approvals.get', { id });
  return (
    <section aria-label="What is asked" className="min-w-0 rounded-lg border border-line bg-panel p-4">
      <Answer of={known && !asked.data ? { ...asked, data: known, error: undefined } : asked}>
        {(approval: Approval & Partial<ApprovalDetail>) => <Shown approval={approval} onDecided={onDecided} />}
      </Answer>
    </section>
  );
}

// --- internal ---

function Shown({ approval, onDecided }: { approval: Approval & Partial<ApprovalDetail>; onDecided(): void }) {
  const { title, description, source, runId, sessionId, status, expiresAt, approvers, audit, note } = approval;
  const { call, args } = askedOf(approval);
  const isGiven = approval.input !== undefined && approval.input !== null;
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
          <Asked label={call ? 'Arguments' : 'Payload'} value={args} schema={call ? approval.inputSchema : null} />
        )}
      </div>
      {status === 'pending' && <Decide approval={approval} onDecided={onDecided} hasKeys />}
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
      {isGiven && (
        <div className="mt-2">
          <Changes
            title={call ? 'Approved with these changes' : 'Given with the decision'}
            before={call ? args : null}
            after={approval.input}
          />
        </div>
      )}
    </>
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
