import type { ReactNode } from 'react';
import { useDialogs } from '../app/search.ts';
import { Button } from './button.tsx';

export interface NewProps {
  /** What is on the button. */
  label: string;
  /** What the address calls the dialog. Default `create`. */
  name?: string;
  /** What the address says it is about, where a screen makes several things. Default `1`. */
  about?: string;
  /** Parts of the address that the dialog reads, and that go with it. */
  reads?: readonly string[];
  /** Not the first thing to do here. */
  plain?: boolean;
  /** The dialog. */
  children(close: () => void): ReactNode;
}

/** A button that creates something, and its dialog, which the address holds. */
export function New({ label, name = 'create', about = '1', reads = [], plain = false, children }: NewProps) {
  const { asked, ask, close } = useDialogs(name, ...reads);
  return (
    <>
      <Button look={plain ? 'plain' : 'primary'} onClick={() => ask(name, about)}>
        {label}
      </Button>
      {asked[name] === about && children(close)}
    </>
  );
}
