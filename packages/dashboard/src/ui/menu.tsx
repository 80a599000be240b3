import { DropdownMenu } from 'radix-ui';
import { useRef } from 'react';
import type { ReactNode } from 'react';
import { Button } from './button.tsx';

export interface MenuItem {
  label: string;
  danger?: boolean;
  disabled?: boolean;
  onSelect(): void;
}

export function Menu({ label, items, small }: { label: ReactNode; items: readonly MenuItem[]; small?: boolean }) {
  const trigger = useRef<HTMLButtonElement>(null);
  return (
    // Modal menus put a style into the page, which its policy refuses.
    <DropdownMenu.Root modal={false}>
      <DropdownMenu.Trigger asChild ref={trigger}>
        <Button small={small ?? false}>{label}</Button>
      </DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content
          align="end"
          sideOffset={4}
          className="z-40 min-w-40 rounded-lg border border-line bg-panel p-1 shadow-lg"
        >
          {items.map(({ label: text, danger, disabled, onSelect }) => (
            <DropdownMenu.Item
              key={text}
              disabled={disabled ?? false}
              onSelect={() => {
                // A dialog that this opens gives the focus back to what had it: an item of the menu is gone by then.
                trigger.current?.focus();
                onSelect();
              }}
              className={`rounded px-2.5 py-1.5 outline-none data-[disabled]:opacity-50 data-[highlighted]:bg-raised ${danger ? 'text-bad' : ''}`}
            >
              {text}
            </DropdownMenu.Item>
          ))}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}
