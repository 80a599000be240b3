/** What a secret of the workspace may be called. */
export const SECRET_NAME = /^[A-Za-z_][A-Za-z0-9_.-]{0,127}$/;

export const SECRET_NAME_RULE = 'Use 1 to 128 letters, digits, "_", "." and "-", beginning with a letter or "_"';
