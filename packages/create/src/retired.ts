/** Flags of `svc init` that are gone, each with what to write instead. */
export const RETIRED_INIT_FLAGS = {
  starter: 'The flag "--starter" is gone: --with chooses what a workspace begins with, "svc add" adds to it.',
  template: 'The flag "--template" is gone: --with chooses what a workspace begins with, "svc add" adds to it.',
};

export const RETIRED_SUGGESTION = 'For example: svc init shop --with agent';
