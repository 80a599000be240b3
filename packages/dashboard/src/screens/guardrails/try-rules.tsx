import { useState } from 'react';
import { useCall, useChange } from '../../api/queries.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Failure } from '../../ui/failure.tsx';
import { Field, Select, Textarea } from '../../ui/field.tsx';
import { Panel } from '../../ui/page.tsx';
import { Table } from '../../ui/table.tsx';
import { FINDING_COLUMNS, VERDICTS } from './findings.tsx';
import type { DryRun } from './findings.tsx';
import { SIDES } from './rule.ts';
import type { Side } from './rule.ts';
import { Refused } from '../../ui/refused.tsx';

/** Asks the rules about a text of one's own; nothing is changed or recorded. */
export function TryRules() {
  const names = useCall('discovery.get', {});
  const test = useChange('guardrails.test', []);
  const [text, setText] = useState('');
  const [side, setSide] = useState<Side>('agent-output');
  const [name, setName] = useState('');
  const kind = side === 'workflow-input' ? 'workflow' : 'agent';
  const known = (kind === 'agent' ? names.data?.agents : names.data?.workflows) ?? [];
  return (
    <>
      <Panel>
        <form
          noValidate
          className="flex flex-col gap-3"
          onSubmit={(event) => {
            event.preventDefault();
            test.mutate({ text, side, ...(name === '' ? {} : { [kind]: name }) });
          }}
        >
          <Field label="Text">
            {(parts) => <Textarea {...parts} rows={5} value={text} onChange={({ target }) => setText(target.value)} />}
          </Field>
          <div className="grid gap-3 sm:grid-cols-2">
            <Field label="As">
              {(parts) => (
                <Select
                  {...parts}
                  options={SIDES}
                  value={side}
                  onChange={({ target }) => {
                    setSide(target.value as Side);
                    setName('');
                  }}
                />
              )}
            </Field>
            <Field label={kind === 'agent' ? 'Agent' : 'Workflow'}>
              {(parts) => (
                <Select
                  {...parts}
                  options={[['', 'None: the rules for all'], ...known.map((each) => [each, each] as const)]}
                  value={name}
                  onChange={({ target }) => setName(target.value)}
                />
              )}
            </Field>
          </div>
          <Refused of={names} what="The names of agents and workflows" />
          <div>
            <Button type="submit" look="primary" busy={test.isPending} disabled={text === ''}>
              Try
            </Button>
          </div>
        </form>
      </Panel>
      <div aria-live="polite">
        {test.error && <Failure error={test.error} />}
        {test.data && <Said of={test.data} />}
      </div>
    </>
  );
}

// --- internal ---

function Said({ of: { verdict, rule, text, hits } }: { of: DryRun }) {
  const [tone, sentence] = VERDICTS[verdict];
  return (
    <Panel title="What the rules say">
      <p className="flex flex-wrap items-center gap-2">
        <Badge tone={tone}>{verdict}</Badge>
        <span>
          {sentence}
          {rule !== null && (
            <>
              {' by '}
              <bdi className="font-medium">{rule}</bdi>
            </>
          )}
        </span>
      </p>
      {verdict === 'mask' && text !== null && (
        <pre className="mt-3 max-h-80 overflow-auto rounded border border-line bg-raised p-3 text-xs wrap-anywhere whitespace-pre-wrap">
          <bdi>{text}</bdi>
        </pre>
      )}
      {hits.length > 0 && (
        <div className="mt-3">
          <Table
            label="What was found"
            rows={hits}
            keyOf={({ ruleName, action }) => `${ruleName} ${action}`}
            columns={FINDING_COLUMNS}
          />
        </div>
      )}
    </Panel>
  );
}
