import type { ReactNode } from 'react';

/** Nothing is here: what that means, and what to do. */
export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="mx-auto max-w-lg px-4 py-12 text-center">
      <p className="text-base font-medium">{title}</p>
      <div className="mt-1 text-muted">{children}</div>
    </div>
  );
}
