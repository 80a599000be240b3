import type { OperationOutput } from '@svc/runtime/client';
import { useCall, useChange, useLeave } from '../../api/queries.ts';
import { useDialogs, usePathParams, useSearchState } from '../../app/search.ts';
import { Answer } from '../../ui/answer.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Confirm } from '../../ui/confirm.tsx';
import { Delete } from '../../ui/delete.tsx';
import { Menu } from '../../ui/menu.tsx';
import { Page } from '../../ui/page.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { toast } from '../../ui/toast.tsx';
import { ownerOf } from '../prompts/owner.ts';
import { Compare } from './compare.tsx';
import { Editor } from './editor.tsx';
import { Rename } from './rename.tsx';
import { UsedBy } from './used-by.tsx';
import { Versions } from './versions.tsx';

type PromptDetail = OperationOutput<'prompts.get'>;

/** One prompt: its text is written, its versions are compared, published and rolled back. */
export default function Prompt() {
  const { id = '' } = usePathParams();
  const prompt = useCall('prompts.get', { id });
  return <Answer of={prompt}>{(detail) => <Detail prompt={detail} />}</Answer>;
}

// --- internal ---

function Detail({ prompt }: { prompt: PromptDetail }) {
  const { id, name, key, note, publishedVersion, latestVersion, ownerExists } = prompt;
  const [{ tab = 'text' }, change] = useSearchState();
  const { asked, ask, close } = useDialogs('rollback', 'delete', 'rename');
  return (
    <Page
      title={<bdi>{name}</bdi>}
      actions={
        <>
          {publishedVersion !== null && <Button onClick={() => ask('rollback')}>Roll back</Button>}
          <Menu
            label="More"
            items={[
              { label: 'Rename', onSelect: () => ask('rename') },
              { label: 'Delete', danger: true, onSelect: () => ask('delete') },
            ]}
          />
        </>
      }
    >
      <p className="mb-4 flex flex-wrap items-center gap-2 text-muted">
        {publishedVersion === null ? (
          <Badge>not published</Badge>
        ) : (
          <Badge tone="good">version {publishedVersion} in force</Badge>
        )}
        {latestVersion !== publishedVersion && <Badge tone="warn">version {latestVersion} is a draft</Badge>}
        <span className="wrap-anywhere">
          Of <bdi>{ownerOf(prompt)}</bdi>, as <code>{key}</code>
        </span>
        {ownerExists === false && <Badge tone="warn">the box has no such owner</Badge>}
        {note && <bdi>{note}</bdi>}
      </p>
      <Tabs
        label="Prompt"
        value={tab}
        onChange={(next) => change({ tab: next === 'text' ? undefined : next }, 'push')}
        tabs={[
          { id: 'text', title: 'Text', content: () => <Editor key={id} prompt={prompt} /> },
          { id: 'versions', title: 'Versions', content: () => <Versions prompt={prompt} /> },
          { id: 'compare', title: 'Compare', content: () => <Compare prompt={prompt} /> },
        ]}
      />
      <UsedBy prompt={prompt} />
      {asked.rollback && publishedVersion !== null && <RollBack prompt={prompt} onClose={close} />}
      {asked.delete && <DeleteThis id={id} name={name} onClose={close} />}
      {asked.rename && <Rename prompt={prompt} onClose={close} />}
    </Page>
  );
}

function RollBack({ prompt: { id }, onClose }: { prompt: PromptDetail; onClose(): void }) {
  const rollback = useChange('prompts.rollback');
  return (
    <Confirm
      title="Roll back to the version before?"
      verb="Roll back"
      onClose={onClose}
      onConfirm={async () => {
        const { publishedVersion } = await rollback.mutateAsync({ id });
        toast(`Version ${publishedVersion} is in force again.`);
      }}
    >
      The version that was in force before this one is published again. The next turn is given it.
    </Confirm>
  );
}

function DeleteThis({ id, name, onClose }: { id: string; name: string; onClose(): void }) {
  const remove = useLeave('prompts.delete');
  return (
    <Delete
      name={`“${name}”`}
      done="The prompt was deleted."
      to="/prompts"
      onDelete={() => remove.mutateAsync({ id })}
      onClose={onClose}
    >
      All its versions go with it. An agent whose instructions it holds is given those of its code again.
    </Delete>
  );
}
