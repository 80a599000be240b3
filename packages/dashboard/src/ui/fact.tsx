import type { ReactNode } from 'react';

/** What is known of a thing: its name beside it, in a `dl`. */
export function Fact({ title, children }: { title: string; children: ReactNode }) {
  return (
    <>
      <dt className="text-muted">{title}</dt>
      <dd className="mb-1 min-w-0 wrap-anywhere sm:mb-0">{children}</dd>
    </>
  );
}

/** An address, an id, a word of a protocol. */
export function Code({ children }: { children: ReactNode }) {
  return <code className="text-xs wrap-anywhere">{children}</code>;
}
