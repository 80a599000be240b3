import type { ReactNode } from 'react';

/** A screen: its heading, what can be done on it, and what it shows. */
export function Page({
  title,
  actions,
  wide,
  children,
}: {
  title: ReactNode;
  actions?: ReactNode;
  wide?: boolean;
  children: ReactNode;
}) {
  return (
    <div className={`mx-auto px-4 py-4 md:px-6 ${wide ? '' : 'max-w-6xl'}`}>
      <div className="mb-4 flex flex-wrap items-center gap-2">
        <h1 className="min-w-0 flex-1 basis-48 text-xl font-semibold wrap-anywhere">{title}</h1>
        {actions}
      </div>
      {children}
    </div>
  );
}

export function Panel({ title, actions, children }: { title?: ReactNode; actions?: ReactNode; children: ReactNode }) {
  return (
    <section className="mb-4 min-w-0 rounded-lg border border-line bg-panel">
      {title !== undefined && (
        <div className="flex flex-wrap items-center gap-2 border-b border-line px-4 py-2">
          <h2 className="flex-1 font-medium">{title}</h2>
          {actions}
        </div>
      )}
      <div className="p-4">{children}</div>
    </section>
  );
}
