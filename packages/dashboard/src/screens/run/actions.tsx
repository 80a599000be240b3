import { useNavigate } from '@tanstack/react-router';
import type { OperationOutput } from '@svc/runtime/client';
import { useChange, useLeave } from '../../api/queries.ts';
import { useBox, useMay } from '../../app/box.ts';
import { useDialogs } from '../../app/search.ts';
import { Button } from '../../ui/button.tsx';
import { Confirm } from '../../ui/confirm.tsx';
import { copyText } from '../../ui/copy-text.ts';
import { Delete } from '../../ui/delete.tsx';
import { Menu } from '../../ui/menu.tsx';
import type { MenuItem } from '../../ui/menu.tsx';
import { toast, toastFailure } from '../../ui/toast.tsx';
import { isFinal } from './final.ts';
import { ForkDialog } from './fork.tsx';
import { toCaseLine, toTestLine } from './lines.ts';

type Run = OperationOutput<'runs.get'>;

/** What may be done with a run in its present state, by callers who may. */
export function RunActions({ run }: { run: Run }) {
  const may = useMay();
  const { client } = useBox();
  const navigate = useNavigate();
  const { asked, ask, close } = useDialogs('cancel', 'delete', 'fork');
  const retry = useChange('runs.retry');
  const pause = useChange('runs.pause');
  const resume = useChange('runs.resume');
  const makeCase = useChange('evals.cases.create');
  const isOver = isFinal(run);
  const isWorkflow = run.kind === 'workflow';
  const mayFork = isWorkflow && run.sessionId === null && run.status !== 'queued' && may('runs:retry');
  const mayCancel = !isOver && may('runs:cancel');
  const mayDelete = isOver && may('runs:delete');

  const again = async (from: 'failed-step' | 'start') => {
    try {
      const receipt = await retry.mutateAsync({ id: run.runId, from });
      toast('A new run was started.');
      if (receipt.status === 'started') void navigate({ to: `/runs/${receipt.runId}` as never });
    } catch (error) {
      toastFailure(error);
    }
  };
  const change = async (write: typeof pause, done: string) => {
    try {
      await write.mutateAsync({ id: run.runId });
      toast(done);
    } catch (error) {
      toastFailure(error);
    }
  };
  const promote = async () => {
    try {
      const { id } = await makeCase.mutateAsync({ fromRunId: run.runId });
      toast('The case is made.');
      void navigate({ to: '/evals' as never, search: { tab: 'cases', case: id } as never });
    } catch (error) {
      toastFailure(error);
    }
  };
  const exportRun = async () => {
    try {
      const recording = await client.call('runs.export', { id: run.runId });
      save(`${run.name}-${run.runId.slice(0, 8)}.json`, JSON.stringify(recording, null, 2));
    } catch (error) {
      toastFailure(error);
    }
  };
  const items: MenuItem[] = [
    ...(isOver && isWorkflow && may('runs:retry')
      ? [{ label: 'Repeat from the start', onSelect: () => void again('start') }]
      : []),
    ...(mayCancel && run.pausedAt === null
      ? [{ label: 'Pause', onSelect: () => void change(pause, 'It begins no further step.') }]
      : []),
    ...(may('guardrails:read')
      ? [
          {
            label: 'Try guardrails on it',
            onSelect: () =>
              void navigate({ to: '/guardrails' as never, search: { tab: 'recorded', run: run.runId } as never }),
          },
        ]
      : []),
    ...(isOver && may('evals:write') ? [{ label: 'Make an eval case', onSelect: () => void promote() }] : []),
    ...(mayFork ? [{ label: 'Fork from the start…', onSelect: () => ask('fork', 'start') }] : []),
    { label: 'Download its history', onSelect: () => void exportRun() },
    { label: 'Copy "svc replay --promote" (as a test)', onSelect: () => copy(toTestLine(run)) },
    ...(isOver && may('evals:write')
      ? [{ label: 'Copy "svc pull run --promote eval" (as a case)', onSelect: () => copy(toCaseLine(run)) }]
      : []),
    ...(mayDelete ? [{ label: 'Delete…', danger: true, onSelect: () => ask('delete') }] : []),
  ];
  return (
    <>
      {isOver && isWorkflow && run.status !== 'completed' && may('runs:retry') && (
        <Button look="primary" busy={retry.isPending} onClick={() => void again('failed-step')}>
          Retry
        </Button>
      )}
      {(run.pausedAt !== null || run.status === 'blocked' || waitsForCode(run)) && !isOver && may('runs:retry') && (
        <Button look="primary" busy={resume.isPending} onClick={() => void change(resume, 'It goes on.')}>
          Resume
        </Button>
      )}
      {mayCancel && (
        <Button look="danger" onClick={() => ask('cancel')}>
          Cancel run
        </Button>
      )}
      <Menu label="More" items={items} />
      {asked.fork === 'start' && mayFork && <ForkDialog run={run} from="start" value={run.input} onClose={close} />}
      {asked.cancel && mayCancel && <CancelThis run={run} onClose={close} />}
      {asked.delete && mayDelete && <DeleteThis run={run} onClose={close} />}
    </>
  );
}

// --- internal ---

function waitsForCode({ status, waitingFor }: Run): boolean {
  return status === 'waiting' && (waitingFor as { type?: string } | null)?.type === 'code';
}

function copy(line: string): void {
  void copyText(line).then(() => toast(`Copied: ${line}`), toastFailure);
}

interface AskedProps {
  run: Run;
  onClose(): void;
}

function CancelThis({ run: { runId, name }, onClose }: AskedProps) {
  const cancel = useChange('runs.cancel');
  return (
    <Confirm
      title={`Cancel this run of "${name}"?`}
      verb="Cancel the run"
      danger
      onConfirm={() => cancel.mutateAsync({ id: runId })}
      onClose={onClose}
    >
      It and the runs it started end. Its clean-up steps still run.
    </Confirm>
  );
}

function DeleteThis({ run: { runId, name }, onClose }: AskedProps) {
  const remove = useLeave('runs.delete', ['runs', 'sessions']);
  return (
    <Delete
      name={`this run of "${name}"`}
      done="The run was deleted."
      to="/runs"
      onDelete={() => remove.mutateAsync({ id: runId })}
      onClose={onClose}
    >
      Its steps go with it. This cannot be undone.
    </Delete>
  );
}

function save(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'application/json' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name.replace(/[^\w.-]/g, '_');
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 1_000);
}
