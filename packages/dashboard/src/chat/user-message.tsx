import { memo, useState } from 'react';
import { Badge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { Field, Textarea } from '../ui/field.tsx';
import { Cut } from '../ui/cut.tsx';
import { toParts } from './message.ts';
import type { ChatContent } from './message.ts';
import { Picture } from './picture.tsx';

export interface UserMessageProps {
  id: string;
  content: ChatContent;
  /** The box has not kept it: its turn failed. */
  isLost: boolean;
  /** Undefined: nothing can be said now. */
  onReplace: ((id: string, text: string) => void) | undefined;
  onBranch: ((id: string, text: string) => void) | undefined;
}

/** What a person has said, and may say in another way. */
export const UserMessage = memo(function UserMessage({ id, content, isLost, onReplace, onBranch }: UserMessageProps) {
  const { pictures, text } = toParts(content);
  const [draft, setDraft] = useState<string>();
  const end = (act: (id: string, text: string) => void) => (): void => {
    const said = draft ?? '';
    setDraft(undefined);
    act(id, said);
  };
  if (draft !== undefined && onReplace && onBranch)
    return (
      <div className="ml-auto w-full max-w-2xl rounded-lg border border-line bg-panel p-3">
        <Field label="Say instead">
          {(parts) => (
            <Textarea
              {...parts}
              autoFocus
              dir="auto"
              rows={3}
              className="font-sans"
              value={draft}
              onChange={(event) => setDraft(event.target.value)}
              onKeyDown={(event) => {
                if (event.key === 'Escape') setDraft(undefined);
              }}
            />
          )}
        </Field>
        <div className="mt-2 flex flex-wrap gap-2">
          <Button look="primary" small disabled={draft.trim() === ''} onClick={end(onBranch)}>
            Branch into a new session
          </Button>
          <Button small disabled={draft.trim() === ''} onClick={end(onReplace)}>
            Replace from here on
          </Button>
          <Button small look="quiet" onClick={() => setDraft(undefined)}>
            Cancel
          </Button>
        </div>
      </div>
    );
  return (
    <div className="group ml-auto flex max-w-2xl flex-col items-end gap-1">
      {pictures.map((url, at) => (
        <Picture key={at} url={url} />
      ))}
      {(text !== '' || pictures.length === 0) && (
        <Cut text={text} first={10_000}>
          {(shown) => (
            <p
              dir="auto"
              className={`max-h-96 overflow-auto rounded-lg bg-accent-soft px-3 py-2 wrap-anywhere whitespace-pre-wrap ${isLost ? 'opacity-70' : ''}`}
              tabIndex={text.length > 1_000 ? 0 : undefined}
            >
              {shown}
            </p>
          )}
        </Cut>
      )}
      <div className="flex items-center gap-2">
        {isLost && <Badge tone="warn">not kept</Badge>}
        {onReplace && (
          <Button small look="quiet" aria-label={`Edit or branch: ${text.slice(0, 40)}`} onClick={() => setDraft(text)}>
            Edit or branch
          </Button>
        )}
      </div>
    </div>
  );
});
