import { useNavigate } from '@tanstack/react-router';
import type { OperationOutput } from '@svc/runtime/client';
import { useCall, useChange, useList } from '../../api/queries.ts';
import { useMay } from '../../app/box.ts';
import { useDialogs, useSearchState } from '../../app/search.ts';
import { Answer } from '../../ui/answer.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Confirm } from '../../ui/confirm.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { List } from '../../ui/list.tsx';
import { Time } from '../../ui/time.tsx';
import { toast } from '../../ui/toast.tsx';
import { toTrial } from './tried.ts';

type Version = OperationOutput<'prompts.versions'>['items'][number];

export function Versions({ prompt }: { prompt: OperationOutput<'prompts.get'> }) {
  const { id } = prompt;
  const mayTry = useMay()('agents:chat');
  const versions = useList('prompts.versions', { id });
  const publish = useChange('prompts.publish');
  const [{ version: shown }, change] = useSearchState();
  const { asked, ask, close } = useDialogs('publish');
  const toPublish = versions.items?.find((one) => String(one.version) === asked.publish && !one.isPublished)?.version;
  return (
    <>
      <List
        of={versions}
        label="Versions"
        keyOf={({ version }) => String(version)}
        columns={[
          {
            title: 'Version',
            cell: ({ version, isPublished }: Version) => (
              <span className="flex items-center gap-2">
                {version} {isPublished && <Badge tone="good">in force</Badge>}
              </span>
            ),
          },
          { title: 'Note', cell: ({ note }) => <bdi className="wrap-anywhere">{note ?? '–'}</bdi> },
          { title: 'By', wide: true, cell: ({ createdBy }) => <bdi>{createdBy}</bdi> },
          { title: 'Written', wide: true, cell: ({ createdAt }) => <Time at={createdAt} /> },
          {
            title: 'Actions',
            end: true,
            cell: ({ version, isPublished }) => (
              <span className="flex flex-wrap justify-end gap-1">
                <Button
                  small
                  aria-label={`Show version ${version}`}
                  onClick={() => change({ version: String(version) }, 'push')}
                >
                  Show
                </Button>
                {!isPublished && (
                  <>
                    {mayTry && <Try of={toTrial(prompt, version)} version={version} />}
                    <Button
                      small
                      aria-label={`Compare version ${version}`}
                      onClick={() => change({ tab: 'compare', to: String(version) }, 'push')}
                    >
                      Compare
                    </Button>
                    <Button
                      small
                      aria-label={`Publish version ${version}`}
                      onClick={() => ask('publish', String(version))}
                    >
                      Publish
                    </Button>
                  </>
                )}
              </span>
            ),
          },
        ]}
        empty={null}
      />
      {toPublish !== undefined && (
        <Confirm
          title={`Publish version ${toPublish}?`}
          verb="Publish"
          onClose={close}
          onConfirm={async () => {
            await publish.mutateAsync({ id, version: toPublish });
            toast(`Version ${toPublish} is in force.`);
          }}
        >
          It is in force from the next turn on. The one before it can be rolled back to.
        </Confirm>
      )}
      {isVersion(shown) && (
        <Shown id={id} version={Number(shown)} onClose={() => change({ version: undefined }, 'back')} />
      )}
    </>
  );
}

// --- internal ---

function isVersion(text: string | undefined): boolean {
  return /^[1-9]\d{0,8}$/.test(text ?? '');
}

function Try({ of, version }: { of: ReturnType<typeof toTrial>; version: number }) {
  const navigate = useNavigate();
  if (!of) return null;
  return (
    <Button small aria-label={`Try version ${version}`} onClick={() => void navigate(of as never)}>
      Try
    </Button>
  );
}

function Shown({ id, version, onClose }: { id: string; version: number; onClose(): void }) {
  const text = useCall('prompts.version', { id, version });
  return (
    <Dialog title={`Version ${version}`} onClose={onClose} actions={<Button onClick={onClose}>Close</Button>}>
      <Answer of={text}>
        {(detail) => (
          <pre
            dir="auto"
            tabIndex={0}
            aria-label={`Text of version ${version}`}
            className="max-h-[60dvh] overflow-auto font-mono wrap-anywhere whitespace-pre-wrap"
          >
            {detail.text}
          </pre>
        )}
      </Answer>
    </Dialog>
  );
}
