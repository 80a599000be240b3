import { useRef, useState } from 'react';
import type { RefObject } from 'react';
import { Button } from '../ui/button.tsx';
import { Field, Textarea } from '../ui/field.tsx';

export interface ComposerProps {
  /** Why nothing can be said; undefined: something can. */
  blocked: string | undefined;
  isRunning: boolean;
  onSend(text: string): void;
  onStop(): void;
  label?: string;
  autoFocus?: boolean;
  /** For whoever leads the person there. */
  inputRef?: RefObject<HTMLTextAreaElement | null>;
  /** Keeps what is written, where it may have to be shown again. */
  draft?: RefObject<string>;
}

/** Where a message is written. Enter sends it, with Shift it is a new line. */
export function Composer(props: ComposerProps) {
  const { blocked, isRunning, onSend, onStop, label = 'Message', autoFocus = false } = props;
  const [text, write] = useState(props.draft?.current ?? '');
  const setText = (next: string): void => {
    if (props.draft) props.draft.current = next;
    write(next);
  };
  const own = useRef<HTMLTextAreaElement>(null);
  const input = props.inputRef ?? own;
  const canSend = blocked === undefined && !isRunning && text.trim() !== '';
  const send = (): void => {
    if (!canSend) return;
    onSend(text);
    setText('');
  };
  const stop = (): void => {
    // The button goes with the turn, and whoever pressed it goes on here.
    input.current?.focus();
    onStop();
  };
  return (
    <form
      className="flex items-start gap-2 border-t border-line bg-page px-4 py-3"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <div className="min-w-0 flex-1">
        <Field label={label} quiet hint={blocked}>
          {(parts) => (
            <Textarea
              {...parts}
              ref={input}
              autoFocus={autoFocus}
              rows={1}
              spellCheck
              dir="auto"
              placeholder="Say something. Enter sends it."
              className="max-h-60 resize-none font-sans field-sizing-content"
              value={text}
              onChange={(event) => setText(event.target.value)}
              onKeyDown={(event) => {
                if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
                event.preventDefault();
                send();
              }}
            />
          )}
        </Field>
      </div>
      {isRunning ? (
        <Button look="danger" onClick={stop}>
          Stop
        </Button>
      ) : (
        <Button type="submit" look="primary" disabled={!canSend}>
          Send
        </Button>
      )}
    </form>
  );
}
