import type { ReactNode } from 'react';
import { Failure } from './failure.tsx';
import { Loading } from './loading.tsx';

export interface Asked<Data> {
  data: Data | undefined;
  error: unknown;
  refetch(): unknown;
}

/** What a query has answered; until then that it loads, or why it was refused. What was there before stays, with the reason. */
export function Answer<Data>({
  of: { data, error, refetch },
  rows,
  children,
}: {
  of: Asked<Data>;
  rows?: number;
  children(data: Data): ReactNode;
}) {
  const failure = error ? <Failure error={error} onRetry={() => void refetch()} /> : null;
  if (data === undefined) return failure ?? <Loading {...(rows === undefined ? {} : { rows })} />;
  return (
    <>
      {failure}
      {children(data)}
    </>
  );
}
