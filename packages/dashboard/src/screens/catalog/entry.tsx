import { useState } from 'react';
import type { OperationOutput } from '@svc/runtime/client';
import { useCall, useChange } from '../../api/queries.ts';
import { useMay } from '../../app/box.ts';
import { Answer } from '../../ui/answer.tsx';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Failure } from '../../ui/failure.tsx';
import { Link } from '../../ui/link.tsx';
import { Json } from '../../ui/json/json.tsx';
import { ModelField } from '../../ui/model-field.tsx';
import { toast } from '../../ui/toast.tsx';
import { WaysOn } from './ways-on.tsx';
import { CodeProblemCard } from '../workflows/code-state.tsx';

type Detail = OperationOutput<'catalog.get'>;
type Kind = Detail['kind'];

/** One entry: what it is, and what may be chosen of it here. */
export function Entry({ kind, name, onClose }: { kind: Kind; name: string; onClose(): void }) {
  const entry = useCall('catalog.get', { kind, name });
  return (
    <Dialog title={name} wide onClose={onClose} actions={<Button onClick={onClose}>Close</Button>}>
      <Answer of={entry}>{(detail) => <Shown entry={detail} />}</Answer>
    </Dialog>
  );
}

// --- internal ---

function Shown({ entry }: { entry: Detail }) {
  const may = useMay();
  const { kind, name, description, problem, file, tools, interruptOn, inputSchema, outputSchema } = entry;
  const isChosen = kind === 'agent' || kind === 'workflow';
  return (
    <div className="flex flex-col gap-4">
      {problem && <CodeProblemCard problem={problem} />}
      {description && <bdi>{description}</bdi>}
      <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1">
        <Fact title="File" text={file} />
        {tools && tools.length > 0 && (
          <>
            <dt className="text-muted">Tools</dt>
            <dd className="flex flex-wrap gap-x-3">
              {tools.map((tool) => (
                <Link key={tool} to="/catalog" search={{ open: `tool/${name}:${tool}` }}>
                  {tool}
                </Link>
              ))}
            </dd>
          </>
        )}
        <Fact title="Asks a person before" text={interruptOn?.join(', ')} />
      </dl>
      <WaysOn kind={kind} name={name} />
      {isChosen && <Choices key={name} entry={entry} kind={kind} canChange={may('catalog:write')} />}
      {inputSchema && (
        <div>
          <h3 className="mb-1 font-medium">Input</h3>
          <Json value={inputSchema} label="Schema of the input" />
        </div>
      )}
      {outputSchema && (
        <div>
          <h3 className="mb-1 font-medium">Output</h3>
          <Json value={outputSchema} label="Schema of the output" />
        </div>
      )}
    </div>
  );
}

function Fact({ title, text }: { title: string; text: string | null | undefined }) {
  if (!text) return null;
  return (
    <>
      <dt className="text-muted">{title}</dt>
      <dd className="wrap-anywhere">
        <bdi>{text}</bdi>
      </dd>
    </>
  );
}

function Choices({ entry, kind, canChange }: { entry: Detail; kind: 'agent' | 'workflow'; canChange: boolean }) {
  const { name, model, isHidden } = entry;
  const update = useChange('catalog.update', ['catalog', 'discovery']);
  const [chosen, setChosen] = useState(model?.override ?? '');
  const isChanged = model !== null && chosen.trim() !== (model.override ?? '');
  const save = async (change: { model?: string | null; isHidden?: boolean }, text: string): Promise<void> => {
    try {
      await update.mutateAsync({ kind, name, ...change });
      toast(text);
    } catch {
      // Said below.
    }
  };
  return (
    <div className="flex flex-col gap-3 rounded border border-line p-3">
      {model && (
        <>
          <p className="text-muted">
            The code names {model.declared ? <code>{model.declared}</code> : 'no model'}; the next turn asks{' '}
            {model.effective ? <code>{model.effective}</code> : 'none, as there is none'}.
          </p>
          {canChange && (
            <ModelField
              label="Model"
              hint="Wins over the code; empty: the code says"
              value={chosen}
              onChange={setChosen}
            />
          )}
        </>
      )}
      {canChange && (
        <div className="flex flex-wrap gap-2">
          {model && (
            <Button
              look="primary"
              disabled={!isChanged}
              busy={update.isPending}
              onClick={() =>
                void save({ model: chosen.trim() === '' ? null : chosen.trim() }, `The model of ${name} is chosen.`)
              }
            >
              Choose the model
            </Button>
          )}
          <Button
            busy={update.isPending}
            onClick={() => void save({ isHidden: !isHidden }, isHidden ? `${name} is shown.` : `${name} is hidden.`)}
          >
            {isHidden ? 'Show in lists' : 'Hide from lists'}
          </Button>
        </div>
      )}
      {update.error ? <Failure error={update.error} /> : null}
    </div>
  );
}
