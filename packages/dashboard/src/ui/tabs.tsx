import { Tabs as Radix } from 'radix-ui';
import type { ReactNode } from 'react';

export interface TabsProps {
  label: string;
  /** The open one: the address holds it. */
  value: string;
  onChange(value: string): void;
  tabs: readonly { id: string; title: ReactNode; content(): ReactNode }[];
}

export function Tabs({ label, value, onChange, tabs }: TabsProps) {
  return (
    <Radix.Root value={value} onValueChange={onChange}>
      <Radix.List aria-label={label} className="mb-3 flex gap-1 overflow-x-auto border-b border-line">
        {tabs.map(({ id, title }) => (
          <Radix.Trigger
            key={id}
            value={id}
            className="border-b-2 border-transparent px-3 py-1.5 whitespace-nowrap text-muted data-[state=active]:border-accent data-[state=active]:text-text"
          >
            {title}
          </Radix.Trigger>
        ))}
      </Radix.List>
      {tabs.map(({ id, content }) => (
        <Radix.Content key={id} value={id} tabIndex={-1}>
          {id === value && content()}
        </Radix.Content>
      ))}
    </Radix.Root>
  );
}
