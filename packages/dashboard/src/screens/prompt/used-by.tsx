import type { ReactNode } from 'react';
import type { OperationOutput } from '@svc/runtime/client';
import { useCall, useList } from '../../api/queries.ts';
import { useMay } from '../../app/box.ts';
import { Link } from '../../ui/link.tsx';
import { Time } from '../../ui/time.tsx';
import { rootOf } from './tried.ts';
import { Refused } from '../../ui/refused.tsx';

type Prompt = OperationOutput<'prompts.get'>;

/** Who is given the text: an agent as its instructions, code that asks for it, suites that pin a version, and the last runs with it. */
export function UsedBy({ prompt }: { prompt: Prompt }) {
  const may = useMay();
  return (
    <section aria-label="Used by" className="mt-6 rounded-lg border border-line bg-panel px-4 py-3">
      <h2 className="mb-2 font-medium">Used by</h2>
      <ul className="flex flex-col gap-1">
        <Owner prompt={prompt} />
        {may('evals:read') && <Suites id={prompt.id} />}
        <Runs prompt={prompt} />
      </ul>
    </section>
  );
}

// --- internal ---

function Owner({ prompt: { ownerKind, ownerName, key } }: { prompt: Prompt }) {
  if (ownerKind === 'agent' && key === 'instructions')
    return (
      <li>
        <Link to="/catalog" search={{ open: `agent/${rootOf(ownerName)}` }}>
          <bdi>{ownerName}</bdi>
        </Link>{' '}
        takes it as its instructions, in place of those in its code.
      </li>
    );
  const who: Record<Prompt['ownerKind'], ReactNode> = {
    agent: (
      <>
        Tools of{' '}
        <Link to="/catalog" search={{ open: `agent/${rootOf(ownerName)}` }}>
          {ownerName}
        </Link>
      </>
    ),
    workflow: (
      <>
        Code of <Link to={`/workflows/${encodeURIComponent(ownerName)}`}>{ownerName}</Link>
      </>
    ),
    workspace: 'Code of any agent and workflow',
  };
  return (
    <li>
      {who[ownerKind]} that asks for <code>svc.prompts.get(&apos;{key}&apos;)</code>.
    </li>
  );
}

function Suites({ id }: { id: string }) {
  const suites = useList('evals.suites.list', { limit: 100 });
  const pinning = suites.items?.flatMap(({ name, prompts }) => {
    const pinned = prompts.find(({ promptId }) => promptId === id);
    return pinned ? [{ name, version: pinned.version }] : [];
  });
  if (!pinning)
    return suites.error ? (
      <li>
        <Refused of={suites} what="The suites" />
      </li>
    ) : null;
  return pinning.map(({ name, version }) => (
    <li key={name}>
      Suite <Link to={`/evals/suites/${name}`}>{name}</Link> runs with version {version}.
    </li>
  ));
}

/** A run is marked with the version that it was given. */
function Runs({ prompt: { id, key, ownerKind, publishedVersion, latestVersion } }: { prompt: Prompt }) {
  const version = publishedVersion ?? latestVersion;
  const mark = ownerKind === 'agent' && key === 'instructions' ? 'instructions' : `${ownerKind}.${key}`;
  const runs = useCall('runs.list', { attribute: `svc.prompt.${mark}:${id}@${version}`, limit: 5 });
  if (!runs.data)
    return runs.error ? (
      <li>
        <Refused of={runs} what="The runs that were given it" />
      </li>
    ) : null;
  if (runs.data.items.length === 0) return <li className="text-muted">No run was given version {version} yet.</li>;
  return (
    <li>
      Runs that were given version {version}, the last ones:
      <ul className="mt-1 ml-4 flex flex-col gap-1">
        {runs.data.items.map(({ runId, name, createdAt }) => (
          <li key={runId}>
            <Link to={`/runs/${runId}`}>
              <bdi>{name}</bdi> {runId.slice(0, 8)}
            </Link>
            , <Time at={createdAt} />
          </li>
        ))}
      </ul>
    </li>
  );
}
