import { OFF } from '../copilot/off.ts';
import type { Bootstrap } from './bootstrap.ts';
import { Installations } from './installations.tsx';

/** A control plane that has no box to show: why, and where to go on. */
export function NoBox({ bootstrap }: { bootstrap: Bootstrap }) {
  return (
    <main className="mx-auto max-w-lg p-8">
      <h1 className="text-lg font-semibold wrap-anywhere">{bootstrap.name}</h1>
      <p className="mt-2">{bootstrap.problem?.message}</p>
      <p className="mt-1 text-xs text-muted">
        <code>{bootstrap.problem?.code}</code>
      </p>
      <p className="mt-2 text-muted">
        {OFF['no-deployment'].title}: {OFF['no-deployment'].text}
      </p>
      <div className="mt-4">
        <Installations bootstrap={bootstrap} />
      </div>
      <p className="mt-4">
        <a href="/" className="text-accent underline">
          Your organisation
        </a>
      </p>
    </main>
  );
}
