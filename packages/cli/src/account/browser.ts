import { spawn } from 'node:child_process';

type Env = Record<string, string | undefined>;

/** Whether this machine shows no browser to a person. */
export function isHeadless(env: Env): boolean {
  return ['CI', 'SSH_CLIENT', 'SSH_TTY'].some((name) => Boolean(env[name]));
}

/** Opens an address in the person's browser, if there is one. Never throws: the address has been printed. */
export function openBrowser(url: string, env: Env): void {
  const [command = '', ...args] = chooseCommand(env);
  const child = spawn(command, [...args, url], { env: { ...env }, stdio: 'ignore', detached: true });
  child.on('error', () => {});
  child.unref();
}

// --- internal ---

function chooseCommand(env: Env): string[] {
  if (env.BROWSER) return [env.BROWSER];
  if (process.platform === 'darwin') return ['open'];
  if (process.platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler'];
  return [env.WSL_DISTRO_NAME ? 'wslview' : 'xdg-open'];
}
