import type { ComponentProps } from 'react';

type Look = 'plain' | 'primary' | 'danger' | 'quiet';

const LOOKS: Record<Look, string> = {
  plain: 'border-line bg-panel hover:bg-raised',
  primary: 'border-accent bg-accent text-on-accent hover:opacity-90',
  danger: 'border-bad text-bad bg-panel hover:bg-bad-soft',
  quiet: 'border-transparent hover:bg-raised',
};

export interface ButtonProps extends ComponentProps<'button'> {
  look?: Look;
  small?: boolean;
  /** Under way: it cannot be pressed again. Given at all, also a double click presses it once. */
  busy?: boolean;
}

export function Button({
  look = 'plain',
  small,
  busy,
  className = '',
  disabled,
  children,
  onClick,
  ...rest
}: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      // What is under way is known a moment after the first click.
      onClick={(event) => {
        // Of a button that submits a form, too.
        if (busy !== undefined && event.detail > 1) event.preventDefault();
        else onClick?.(event);
      }}
      disabled={disabled === true || busy === true}
      aria-busy={busy || undefined}
      className={`inline-flex items-center justify-center gap-1.5 rounded border font-medium whitespace-nowrap disabled:opacity-60 ${small ? 'px-2 py-0.5 text-xs' : 'px-3 py-1.5'} ${LOOKS[look]} ${className}`}
    >
      {children}
    </button>
  );
}
