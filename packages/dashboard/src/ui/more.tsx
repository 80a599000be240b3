import { Button } from './button.tsx';

/** The foot of a list that has more. */
export function More({ has, busy, onMore }: { has: boolean; busy: boolean; onMore(): void }) {
  if (!has) return null;
  return (
    <div className="py-3 text-center">
      <Button busy={busy} onClick={onMore}>
        Show more
      </Button>
    </div>
  );
}
