import { useBox } from '../../app/box.ts';
import { useList } from '../../api/queries.ts';
import { previewOf } from '../../ui/json/rows.ts';
import { toRelative } from '../../ui/time.tsx';
import { toastFailure } from '../../ui/toast.tsx';
import { Refused } from '../../ui/refused.tsx';

/** The inputs of the last ten runs, one of which is taken over. */
export function EarlierInputs({ name, onUse }: { name: string; onUse(input: unknown): void }) {
  const { client } = useBox();
  const runs = useList('runs.list', { name, kind: 'workflow', limit: 10 });
  const { items = [] } = runs;
  const use = async (runId: string): Promise<void> => {
    const run = items.find((one) => one.runId === runId);
    if (!run) return;
    try {
      // What is too large for a list is in the run.
      onUse(run.cut.includes('input') ? (await client.call('runs.get', { id: runId })).input : run.input);
    } catch (error) {
      toastFailure(error);
    }
  };
  if (items.length === 0) return <Refused of={runs} what="Earlier inputs" />;
  return (
    <select
      aria-label="Use an earlier input"
      className="max-w-64 min-w-0 flex-1 rounded border border-line bg-panel px-2 py-1"
      value=""
      onChange={({ target }) => void use(target.value)}
    >
      <option value="">Use an earlier input …</option>
      {items.map(({ runId, input, cut, createdAt }) => (
        <option key={runId} value={runId}>
          {toRelative(new Date(createdAt).getTime() - Date.now())} ·{' '}
          {cut.includes('input') ? String(input).slice(0, 60) : previewOf(input)}
        </option>
      ))}
    </select>
  );
}
