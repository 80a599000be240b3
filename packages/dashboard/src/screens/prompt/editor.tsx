import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { KeyboardEvent } from 'react';
import type { OperationOutput } from '@svc/runtime/client';
import { useChange } from '../../api/queries.ts';
import { useMay } from '../../app/box.ts';
import { Button } from '../../ui/button.tsx';
import { Failure } from '../../ui/failure.tsx';
import { Field, Input } from '../../ui/field.tsx';
import { toast } from '../../ui/toast.tsx';
import { useDraft } from './draft.ts';
import { Numbered } from './numbered.tsx';
import { toTrial } from './tried.ts';
import { listVariables } from './variables.ts';

/** The latest text, of which another version is made, never over one that someone else has made meanwhile. */
export function Editor({ prompt }: { prompt: OperationOutput<'prompts.get'> }) {
  const { id, latest, publishedVersion, latestVersion } = prompt;
  const { text, base, isBehind, write, accept } = useDraft(id, latest);
  const [note, setNote] = useState('');
  const add = useChange('prompts.add_version');
  const publish = useChange('prompts.publish');
  const isChanged = text !== base.text;
  const isDraft = latestVersion !== publishedVersion;
  const navigate = useNavigate();
  const mayTry = useMay()('agents:chat') && toTrial(prompt, latestVersion) !== undefined;
  const saveVersion = async (): Promise<number> => {
    if (!isChanged) return latestVersion;
    const { version } = await add.mutateAsync({ id, text, note: note === '' ? null : note });
    setNote('');
    return version;
  };
  const tryIt = async (): Promise<void> => {
    try {
      const version = await saveVersion();
      await navigate(toTrial(prompt, version) as never);
    } catch {
      // Said below.
    }
  };
  const save = async (isPublished: boolean): Promise<void> => {
    try {
      const version = await saveVersion();
      if (isPublished) await publish.mutateAsync({ id, version });
      toast(isPublished ? `Version ${version} is in force.` : `Version ${version} is saved as a draft.`);
    } catch {
      // Said below.
    }
  };
  const variables = listVariables(text);
  const isBusy = add.isPending || publish.isPending;
  const error = add.error ?? publish.error;
  const mayWrite = !isBehind && !isBusy && text.trim() !== '';
  const maySave = mayWrite && isChanged;
  const mayPublish = mayWrite && (isChanged || isDraft);
  const onKeyDown = (event: KeyboardEvent): void => {
    if (!(event.ctrlKey || event.metaKey)) return;
    const does = { s: maySave && (() => save(false)), Enter: mayPublish && (() => save(true)) }[event.key];
    // The browser would save the page.
    if (does !== undefined) event.preventDefault();
    if (does) void does();
  };
  return (
    <div className="flex flex-col gap-3">
      <Field
        label={`Text, from version ${base.version}`}
        hint={variables.length > 0 ? `Filled in when it is read: ${variables.join(', ')}` : undefined}
      >
        {(parts) => (
          <Numbered
            {...parts}
            dir="auto"
            aria-keyshortcuts="Control+S Control+Enter"
            value={text}
            onChange={({ target }) => write(target.value)}
            onKeyDown={onKeyDown}
          />
        )}
      </Field>
      {isChanged && (
        <Field label="Note" hint="Why it was changed">
          {(parts) => <Input {...parts} value={note} onChange={({ target }) => setNote(target.value)} />}
        </Field>
      )}
      {isBehind && (
        <div role="status" className="rounded border border-warn bg-warn-soft px-3 py-2">
          <p>
            Meanwhile <bdi>{latest.createdBy ?? 'somebody'}</bdi> has made version {latest.version}. What you have
            written is not lost.
          </p>
          <pre className="mt-2 max-h-60 overflow-auto font-mono text-xs whitespace-pre-wrap" tabIndex={0} dir="auto">
            {latest.text}
          </pre>
          <p className="mt-2 flex flex-wrap gap-2">
            <Button small onClick={() => accept(latest.text)}>
              Take that text
            </Button>
            <Button small onClick={() => accept()}>
              Keep mine
            </Button>
          </p>
        </div>
      )}
      {error ? <Failure error={error} /> : null}
      <div className="flex flex-wrap gap-2">
        <Button busy={isBusy} disabled={!maySave} onClick={() => void save(false)}>
          Save as a draft
        </Button>
        <Button look="primary" busy={isBusy} disabled={!mayPublish} onClick={() => void save(true)}>
          {isChanged ? 'Save and publish' : 'Publish'}
        </Button>
        {mayTry && (
          <Button busy={isBusy} disabled={!mayWrite} onClick={() => void tryIt()}>
            {isChanged ? 'Save and try in the Playground' : 'Try in the Playground'}
          </Button>
        )}
        {isChanged && <Button onClick={() => write(base.text)}>Take back</Button>}
        <p className="basis-full text-xs text-muted">
          <kbd>Ctrl S</kbd> saves a draft, <kbd>Ctrl Enter</kbd> publishes.
        </p>
      </div>
    </div>
  );
}
