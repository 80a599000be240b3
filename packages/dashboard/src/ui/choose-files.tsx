import { useRef, useState } from 'react';
import { Button } from './button.tsx';
import type { ButtonProps } from './button.tsx';

export interface ChooseFilesProps extends Pick<ButtonProps, 'look' | 'children'> {
  /** What the files are for. */
  label: string;
  /** Ends of their names, and media types. Default: any. */
  accept?: string;
  onChoose(files: readonly File[]): void;
}

/** The button that asks for files. */
export function ChooseFiles({ label, accept, onChoose, ...button }: ChooseFilesProps) {
  const input = useRef<HTMLInputElement>(null);
  const [round, setRound] = useState(0);
  return (
    <>
      <input
        // Another one each time, so that the same file can be chosen again.
        key={round}
        ref={input}
        type="file"
        multiple
        hidden
        accept={accept}
        aria-label={label}
        onChange={({ target }) => {
          onChoose([...(target.files ?? [])]);
          setRound(round + 1);
        }}
      />
      <Button {...button} onClick={() => input.current?.click()} />
    </>
  );
}
