/** The looks of a `<progress>`. Each engine has a name of its own for what is filled. */
export const BAR =
  'h-2 w-28 appearance-none overflow-hidden rounded bg-raised [&::-moz-progress-bar]:bg-accent [&::-webkit-progress-bar]:bg-raised [&::-webkit-progress-value]:bg-accent';
