import type { ReactNode } from 'react';
import { useCall } from '../../api/queries.ts';
import { useMay } from '../../app/box.ts';
import { parsePromptChoice } from '../../chat/prompt-choice.ts';
import type { PromptChoice } from '../../chat/prompt-choice.ts';
import { Button } from '../../ui/button.tsx';
import { Failure } from '../../ui/failure.tsx';
import { Link } from '../../ui/link.tsx';

/** Says which version of a prompt the turns of this page are asked with, and ends that. */
export function TriedPrompt({ of, onEnd }: { of: string | undefined; onEnd(): void }) {
  const choice = parsePromptChoice(of);
  const may = useMay()('config:write');
  if (!choice) return null;
  if (!may) return <Note onEnd={onEnd}>Your role does not let you try versions of prompts.</Note>;
  return <Tried choice={choice} onEnd={onEnd} />;
}

// --- internal ---

function Tried({ choice: { id, version }, onEnd }: { choice: PromptChoice; onEnd(): void }) {
  const { data, error } = useCall('prompts.get', { id });
  if (error && !data) return <Failure error={error} />;
  const isInForce = data?.publishedVersion === version;
  return (
    <Note onEnd={onEnd}>
      Turns of this page are asked with version {version} of{' '}
      <Link to={`/prompts/${id}`}>
        <bdi>{data?.name ?? 'a prompt'}</bdi>
      </Link>
      {data && (isInForce ? ', which is in force.' : ', for everybody else nothing has changed.')}
    </Note>
  );
}

function Note({ onEnd, children }: { onEnd(): void; children: ReactNode }) {
  return (
    <div role="note" className="flex flex-wrap items-center gap-2 border-b border-warn bg-warn-soft px-4 py-1.5">
      <p className="min-w-0 flex-1">{children}</p>
      <Button small onClick={onEnd}>
        Stop trying it
      </Button>
    </div>
  );
}
