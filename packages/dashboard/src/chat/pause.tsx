import { useCall } from '../api/queries.ts';
import { useBox, useMay } from '../app/box.ts';
import { isAmong } from './approvers.ts';
import { PauseCard } from './pause-card.tsx';
import type { PauseCardProps } from './pause-card.tsx';

/**
 * A call that waits for a person. The wire does not say who is asked: that is in the approval. Where it cannot be read the
 * buttons stay, as the box says by itself who may not.
 */
export function Pause(props: Omit<PauseCardProps, 'may' | 'others' | 'isOpening'>) {
  const { bootstrap } = useBox();
  const may = useMay();
  const mayDecide = may('hitl:decide');
  const isAsking = mayDecide && may('hitl:read') && bootstrap.place !== 'dev';
  const { data, isLoading } = useCall('approvals.get', { id: props.interrupt.id }, { enabled: isAsking });
  const approvers = data?.approvers ?? null;
  return (
    <PauseCard
      {...props}
      may={mayDecide}
      isOpening={isAsking && isLoading}
      others={isAmong(approvers, bootstrap) ? undefined : (approvers ?? [])}
    />
  );
}
