import { useEffect, useState } from 'react';
import type { OperationOutput } from '@svc/runtime/client';
import { useCall, useList } from '../../api/queries.ts';
import { useSearchState } from '../../app/search.ts';
import { Answer } from '../../ui/answer.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Field, Select } from '../../ui/field.tsx';
import { Button } from '../../ui/button.tsx';
import { toSides } from './sides.ts';
import type { SidePair } from './sides.ts';
import { Refused } from '../../ui/refused.tsx';

/** Two versions side by side; at first the one in force and the latest. */
export function Compare({ prompt }: { prompt: OperationOutput<'prompts.get'> }) {
  const { id, publishedVersion, latestVersion } = prompt;
  const [search, change] = useSearchState();
  const from = toVersion(search['from']) ?? publishedVersion ?? Math.max(1, latestVersion - 1);
  const to = toVersion(search['to']) ?? latestVersion;
  const versions = useList('prompts.versions', { id, limit: 200 });
  const { items = [] } = versions;
  const diff = useCall('prompts.diff', { id, from, to }, { keep: true });
  const known = items.map(({ version }) => version);
  const options = [...new Set([from, to, ...known])]
    .sort((a, b) => b - a)
    .map(
      (version) => [String(version), `Version ${version}${version === publishedVersion ? ', in force' : ''}`] as const,
    );
  return (
    <>
      <div className="mb-3 flex flex-wrap items-end gap-3">
        <Field label="From">
          {(parts) => (
            <Select
              {...parts}
              value={String(from)}
              options={options}
              onChange={({ target }) => change({ from: target.value })}
            />
          )}
        </Field>
        <Field label="To">
          {(parts) => (
            <Select
              {...parts}
              value={String(to)}
              options={options}
              onChange={({ target }) => change({ to: target.value })}
            />
          )}
        </Field>
        <Button onClick={() => change({ from: String(to), to: String(from) })}>Swap</Button>
      </div>
      <Refused of={versions} what="Other versions" />
      <Answer of={diff}>{(found) => <Sides diff={found} />}</Answer>
    </>
  );
}

// --- internal ---

type Diff = OperationOutput<'prompts.diff'>;

/** Lines that are drawn at first: a text may have tens of thousands. */
const PAGE = 500;

function Sides({ diff }: { diff: Diff }) {
  const [most, setMost] = useState(PAGE);
  useEffect(() => setMost(PAGE), [diff]);
  if (diff.hunks.length === 0)
    return <Empty title="They are the same">Choose another version to see what it changed.</Empty>;
  const pairs = diff.hunks.flatMap((hunk, at) => [...(at > 0 ? [undefined] : []), ...toSides(hunk)]);
  return (
    <>
      <p className="mb-2 text-muted">
        {diff.added} added, {diff.removed} removed
      </p>
      <div
        tabIndex={0}
        role="region"
        aria-label="Difference"
        className="overflow-x-auto rounded-lg border border-line bg-panel"
      >
        <table className="w-full table-fixed border-collapse font-mono text-[13px]">
          <thead className="sr-only">
            <tr>
              <th scope="col">Version {diff.from}</th>
              <th scope="col">Version {diff.to}</th>
            </tr>
          </thead>
          <tbody>
            {pairs.slice(0, most).map((pair, at) =>
              pair ? (
                <tr key={at} className="align-top">
                  <Side of={pair} side="left" />
                  <Side of={pair} side="right" />
                </tr>
              ) : (
                <tr key={at}>
                  <td colSpan={2} className="bg-raised px-2 text-center text-muted">
                    …
                  </td>
                </tr>
              ),
            )}
          </tbody>
        </table>
      </div>
      {pairs.length > most && (
        <div className="py-3 text-center">
          <Button onClick={() => setMost(most + PAGE)}>Show more lines</Button>
        </div>
      )}
    </>
  );
}

const SIGNS = { left: '−', right: '+' } as const;
const TONES = { left: 'bg-bad-soft', right: 'bg-good-soft' } as const;

function Side({ of: pair, side }: { of: SidePair; side: 'left' | 'right' }) {
  const { [side]: line } = pair;
  if (!line) return <td className="bg-raised" />;
  return (
    <td className={`px-2 wrap-anywhere whitespace-pre-wrap ${pair.isSame ? '' : TONES[side]}`}>
      <span className="mr-2 text-xs text-muted select-none">
        {line.line} {pair.isSame ? ' ' : SIGNS[side]}
      </span>
      <bdi>{line.text}</bdi>
    </td>
  );
}

function toVersion(text: string | undefined): number | undefined {
  return text !== undefined && /^[1-9]\d{0,8}$/.test(text) ? Number(text) : undefined;
}
