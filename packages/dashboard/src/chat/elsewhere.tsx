import { nameApprovers } from './approvers.ts';

/** Said to a person whose role decides, where others are asked. */
export function Elsewhere({ approvers }: { approvers: readonly string[] }) {
  return (
    <p className="mt-3 wrap-anywhere text-muted">
      You are not one of those who decide this: <bdi>{nameApprovers(approvers)}</bdi>.
    </p>
  );
}
