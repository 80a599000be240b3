import { useState } from 'react';
import type { DragEvent, ReactNode } from 'react';

export interface DropAreaProps {
  /** Where what is dropped goes. */
  folder: string;
  /** False: nothing can be dropped. */
  isOpen: boolean;
  onDrop(files: readonly File[]): void;
  children: ReactNode;
}

/** Takes files that are dragged here from elsewhere. There is a button for those who drag nothing. */
export function DropArea({ folder, isOpen, onDrop, children }: DropAreaProps) {
  const [isOver, setOver] = useState(false);
  if (!isOpen) return children;
  const hasFiles = ({ dataTransfer }: DragEvent): boolean => dataTransfer.types.includes('Files');
  return (
    <div
      className={`min-h-40 rounded-lg ${isOver ? 'outline-2 outline-offset-4 outline-accent outline-dashed' : ''}`}
      onDragOver={(event) => {
        if (!hasFiles(event)) return;
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={({ currentTarget, relatedTarget }) => {
        if (!(relatedTarget instanceof Node && currentTarget.contains(relatedTarget))) setOver(false);
      }}
      onDrop={(event) => {
        if (!hasFiles(event)) return;
        event.preventDefault();
        setOver(false);
        onDrop([...event.dataTransfer.files]);
      }}
    >
      {children}
      <p className="mt-2 text-xs text-muted" aria-live="polite">
        {isOver ? 'Drop to upload to' : 'Files that are dropped here are uploaded to'}{' '}
        <bdi className="wrap-anywhere">{folder || 'the top'}</bdi>
      </p>
    </div>
  );
}
