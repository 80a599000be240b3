import type { OperationOutput } from '@svc/runtime/client';
import { useCall } from '../../api/queries.ts';
import { useMay } from '../../app/box.ts';
import { usePathParams, useSearchState } from '../../app/search.ts';
import { Answer } from '../../ui/answer.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Json } from '../../ui/json/json.tsx';
import { Page, Panel } from '../../ui/page.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { CodeProblemCard, CodeState } from '../workflows/code-state.tsx';
import { WorkflowChat } from './chat.tsx';
import { Queue } from './queue.tsx';
import { LastRuns } from './last-runs.tsx';
import { Start } from './start.tsx';
import { StartedBy } from './started-by.tsx';

type WorkflowDetail = OperationOutput<'workflows.get'>;

/** One workflow: it is started here, and its runs, its queue and its schemas are seen. */
export default function Workflow() {
  const { name = '' } = usePathParams();
  const workflow = useCall('workflows.get', { name });
  return (
    <Page title={<bdi>{name}</bdi>}>
      <Answer of={workflow}>{(detail) => <Detail workflow={detail} />}</Answer>
    </Page>
  );
}

// --- internal ---

function Detail({ workflow }: { workflow: WorkflowDetail }) {
  const { name, state, problem, mode, steps } = workflow;
  const [{ tab }, change] = useSearchState();
  const mayStart = useMay()('workflows:start');
  const tabs = [
    ...(mayStart ? [{ id: 'start', title: 'Start', content: () => <Start name={name} /> }] : []),
    ...(mode === 'chat' && mayStart
      ? [{ id: 'chat', title: 'Chat', content: () => <WorkflowChat key={name} name={name} /> }]
      : []),
    { id: 'runs', title: 'Last runs', content: () => <LastRuns name={name} /> },
    { id: 'queue', title: 'Queue', content: () => <Queue name={name} /> },
    { id: 'schema', title: 'Schema', content: () => <Schemas name={name} /> },
  ];
  const open = tabs.find(({ id }) => id === tab) ?? tabs[0];
  return (
    <>
      <p className="mb-4 flex flex-wrap items-center gap-2 text-muted">
        <CodeState state={state} problem={problem} />
        <Badge>{mode}</Badge>
        <code className="text-xs wrap-anywhere">{workflow.trigger}</code>
        {steps.length > 0 && <span>Steps: {steps.map((step) => step.name).join(', ')}</span>}
      </p>
      <StartedBy workflow={workflow} />
      {problem && <CodeProblemCard problem={problem} />}
      <Tabs
        label="Workflow"
        value={open?.id ?? 'runs'}
        onChange={(next) => change({ tab: next === tabs[0]?.id ? undefined : next }, 'push')}
        tabs={tabs}
      />
    </>
  );
}

function Schemas({ name }: { name: string }) {
  const schemas = useCall('workflows.schema', { name });
  return (
    <Answer of={schemas}>
      {({ input, output, state }) => (
        <>
          <Schema title="Input" schema={input} what="takes any input" />
          <Schema title="Output" schema={output} what="does not say what it gives" />
          {state && <Schema title="State of its runs" schema={state} what="" />}
        </>
      )}
    </Answer>
  );
}

function Schema({ title, schema, what }: { title: string; schema: unknown; what: string }) {
  return (
    <Panel title={title}>
      {schema ? (
        <Json value={schema} label={`Schema: ${title}`} />
      ) : (
        <Empty title={`It ${what}`}>A Zod schema of the workflow says it, and starts are checked against it.</Empty>
      )}
    </Panel>
  );
}
