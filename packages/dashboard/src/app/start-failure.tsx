import { signInAddress } from '../api/session.ts';
import { BootstrapError } from './bootstrap.ts';
import { Failure } from '../ui/failure.tsx';

/** The page before it knows of any box. */
export function StartFailure({ error }: { error: unknown }) {
  if (error instanceof BootstrapError && error.status === 401)
    return (
      <main className="mx-auto max-w-lg p-8">
        <h1 className="text-lg font-semibold">You are not signed in</h1>
        <p className="mt-2 text-muted">{error.message}</p>
        <a
          className="mt-4 inline-block rounded bg-accent px-3 py-1.5 text-on-accent no-underline"
          href={signInAddress()}
        >
          Sign in
        </a>
      </main>
    );
  return (
    <main className="mx-auto max-w-lg p-8">
      <Failure error={error} onRetry={() => location.reload()} />
    </main>
  );
}
