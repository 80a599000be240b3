import { useCall } from '../api/queries.ts';

/** Opens the copilot, where it is switched on. */
export function DrawerButton({
  isOpen,
  onToggle,
  className,
}: {
  isOpen: boolean;
  onToggle(): void;
  className: string;
}) {
  const settings = useCall('settings.get', {});
  // An older box says nothing of it.
  const { copilot } = (settings.data ?? {}) as Partial<NonNullable<typeof settings.data>>;
  if (!copilot?.enabled) return null;
  return (
    <button
      type="button"
      aria-expanded={isOpen}
      aria-controls={isOpen ? 'copilot' : undefined}
      aria-keyshortcuts="Control+."
      className={`items-center justify-between rounded border border-line px-2 py-1 hover:bg-raised ${className}`}
      onClick={onToggle}
    >
      Copilot <kbd className="text-xs text-muted max-md:hidden">Ctrl .</kbd>
    </button>
  );
}
