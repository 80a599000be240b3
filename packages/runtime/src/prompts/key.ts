/** What a prompt may be asked for by. */
export const PROMPT_KEY = /^[a-zA-Z0-9][a-zA-Z0-9._-]{0,63}$/;

export const PROMPT_KEY_RULE = 'Use 1 to 64 letters, digits, ".", "-" and "_"';
