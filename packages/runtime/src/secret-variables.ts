/** Whether a variable is one that holds a secret, by its name. */
export function isSecretVariable(name: string): boolean {
  return /(?:^|_)(?:KEY|APIKEY|TOKEN|SECRET|PASSWORD|PASSWD|PASS|PASSPHRASE|CREDENTIALS?|COOKIE)(?:_(?:\d+|OLD|NEW|PREVIOUS|NEXT))?$/i.test(
    name,
  );
}

/** The secrets of an environment: variables that are named like one, and the passwords of addresses. */
export function listSecretValues(env: NodeJS.ProcessEnv): string[] {
  return Object.entries(env).flatMap(([name, value = '']) => {
    const secrets = isSecretVariable(name) && value.length >= SHORTEST && !isPath(value) ? [value] : [];
    const password = URL.canParse(value) ? new URL(value).password : '';
    return password === '' ? secrets : [...secrets, decodePart(password)];
  });
}

/** Whether a caller that learns of each guess if it is right finds the secret: one of random characters has more of them. */
export function isGuessable(secret: string): boolean {
  return secret.length < UNGUESSABLE;
}

// --- internal ---

const UNGUESSABLE = 16;

/** Shorter ones are switches and counts. */
const SHORTEST = 6;

/** `SSL_KEY_FILE` and the like name a file. */
function isPath(value: string): boolean {
  return /^\.{0,2}\//.test(value);
}

function decodePart(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
