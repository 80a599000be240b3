import type { ReactNode } from 'react';
import type { OperationOutput } from '@svc/runtime/client';
import { useCall, useLeave } from '../../api/queries.ts';
import { useMay } from '../../app/box.ts';
import { useDialogs, usePathParams, useSearchState } from '../../app/search.ts';
import { AgentState } from '../../chat/agent-state.tsx';
import { COPILOT_AGENT } from '../../copilot/agent.ts';
import { Answer } from '../../ui/answer.tsx';
import { Status } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { toCost } from '../../ui/cost.ts';
import { Delete } from '../../ui/delete.tsx';
import { Link } from '../../ui/link.tsx';
import { Page, Panel } from '../../ui/page.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { Time } from '../../ui/time.tsx';
import { Replay } from './replay.tsx';
import { SessionRuns } from './session-runs.tsx';
import { toCount } from '../../ui/count.ts';

type Shown = OperationOutput<'sessions.get'>;

/** One conversation: what was said in it, and the runs it took. */
export default function Session() {
  const { id = '' } = usePathParams();
  const [{ tab = 'conversation' }, change] = useSearchState();
  const session = useCall('sessions.get', { id });
  return (
    <Page
      title={<bdi>{session.data?.name ?? 'Session'}</bdi>}
      actions={session.data && <Actions session={session.data} />}
    >
      <Answer of={session}>
        {(shown) => (
          <>
            <Facts session={shown} />
            <Tabs
              label="Of the session"
              value={tab}
              onChange={(next) => change({ tab: next })}
              tabs={[
                {
                  id: 'conversation',
                  title: 'Conversation',
                  content: () => (
                    <div className="flex flex-col gap-4 md:flex-row">
                      <div className="min-w-0 flex-1">
                        <Replay session={shown} />
                      </div>
                      <Kept kept={shown.kept} />
                    </div>
                  ),
                },
                {
                  id: 'runs',
                  title: 'Runs',
                  content: () => <SessionRuns id={shown.sessionId} />,
                },
              ]}
            />
          </>
        )}
      </Answer>
    </Page>
  );
}

// --- internal ---

/** What its last turn has left; an older box does not say. */
function Kept({ kept }: { kept: Shown['kept'] | undefined }) {
  return kept && <AgentState state={{ todos: kept.plan, files: kept.files }} />;
}

function Actions({ session }: { session: Shown }) {
  const may = useMay();
  const { asked, ask, close } = useDialogs('delete');
  const remove = useLeave('sessions.delete', ['sessions', 'runs']);
  const { agent, name, kind, owner, sessionId } = session;
  // The wire knows a session by its name, and each caller has names of its own.
  const isOfPerson = kind === 'session' && owner?.kind === 'person' && agent !== COPILOT_AGENT;
  return (
    <>
      {isOfPerson && may('agents:chat') && (
        <Link
          to="/playground"
          search={{ agent, session: name }}
          className="rounded border border-line bg-panel px-3 py-1.5 font-medium no-underline hover:bg-raised"
        >
          Go on in the Playground
        </Link>
      )}
      {may('sessions:delete') && (
        <Button look="danger" onClick={() => ask('delete')}>
          Delete
        </Button>
      )}
      {asked.delete && may('sessions:delete') && (
        <Delete
          name={`the session "${name}"`}
          done="The session is deleted."
          to="/sessions"
          onDelete={() => remove.mutateAsync({ id: sessionId })}
          onClose={close}
        >
          Its turns and their runs are deleted with it. It cannot be undone.
        </Delete>
      )}
    </>
  );
}

function Facts({ session }: { session: Shown }) {
  const { agent, owner, turns, inputTokens, outputTokens, cost, createdAt, lastActiveAt, openTurn, pendingApproval } =
    session;
  return (
    <Panel>
      <dl className="grid grid-cols-2 gap-x-4 gap-y-2 md:grid-cols-4">
        <Fact name="Agent">{agent}</Fact>
        <Fact name="Whose">
          <bdi>{owner ? owner.id : 'the box'}</bdi>
        </Fact>
        <Fact name="Turns">{toCount(turns)}</Fact>
        <Fact name="Tokens">
          {toCount(inputTokens)} in, {toCount(outputTokens)} out
        </Fact>
        {cost !== undefined && <Fact name="Cost">{toCost(cost)}</Fact>}
        <Fact name="Begun">
          <Time at={createdAt} />
        </Fact>
        <Fact name="Last active">
          <Time at={lastActiveAt} />
        </Fact>
        {openTurn && (
          <Fact name="Open turn">
            <Link to={`/runs/${openTurn.runId}`}>
              <Status value={openTurn.status} />
            </Link>
          </Fact>
        )}
        {pendingApproval && (
          <Fact name="It waits for a person">
            {agent === COPILOT_AGENT ? (
              // In no inbox: who asked decides in the panel.
              `${pendingApproval.title} (in the copilot)`
            ) : (
              <Link to="/approvals" search={{ open: pendingApproval.approvalId }}>
                {pendingApproval.title}
              </Link>
            )}
          </Fact>
        )}
      </dl>
    </Panel>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="min-w-0">
      <dt className="text-xs text-muted">{name}</dt>
      <dd className="wrap-anywhere">{children}</dd>
    </div>
  );
}
