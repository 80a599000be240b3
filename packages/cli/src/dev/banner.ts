import type { Problem } from '@svc/runtime/host';
import { contractPayload } from '@svc/runtime/host';
import { DASHBOARD_PATH } from './dashboard.ts';
import type { DevPayload } from './payload.ts';
import type { ProviderInForce } from './provider-line.ts';

export interface BannerOptions {
  payload: DevPayload;
  /** Undefined: there is none. */
  provider?: ProviderInForce | undefined;
  workflows: string[];
  /** Where the journal is kept, in words. */
  adapter: string;
}

/** What a person wants to see first: addresses, what is served, and where to look. */
export function formatBanner({ payload, provider, workflows, adapter }: BannerOptions): string[] {
  // Whether a browser answers is not known yet.
  const { version, capabilities } = contractPayload({ browser: false });
  const count = `${capabilities.length} ${capabilities.length === 1 ? 'capability' : 'capabilities'}`;
  return [
    '',
    `  Box        ${payload.agent_url}   (protocol ${version}, ${count})`,
    `  Dashboard  ${payload.agent_url}${DASHBOARD_PATH}`,
    ...(payload.public_url === null ? [] : [`  Public     ${payload.public_url}`]),
    `  Agents     ${payload.deep_agents.join(', ') || (payload.gate.open ? 'none' : 'held back')}`,
    `  Workflows  ${workflows.join(', ') || (payload.gate.open ? 'none' : 'held back')}`,
    `  Database   ${payload.services.postgres_url}`,
    `  Objects    ${payload.services.s3_endpoint}/${payload.services.s3_bucket}`,
    `  Journal    ${adapter}`,
    ...(provider ? [`  Provider   ${provider.baseUrl}   (${provider.from})`] : []),
    `  Gate       ${payload.gate.open ? 'open' : 'closed'} (${payload.gate.reason})`,
    '',
  ];
}

/** What is served once a gate that was closed has opened. */
export function formatOpened({ agents, workflows }: { agents: string[]; workflows: string[] }): string {
  return `The gate is open. Agents: ${agents.join(', ') || 'none'}. Workflows: ${workflows.join(', ') || 'none'}.`;
}

/** The ways to open a closed gate. */
export function formatGateHelp(url: string): string[] {
  return [
    '',
    'Agents and workflows are held back until a model provider is set. Either start again with',
    '  MODEL_PROVIDER_BASE_URL=https://provider.example/v1 MODEL_PROVIDER_API_KEY=... svc dev',
    'or set it now, without a restart, from another terminal or over HTTP:',
    '  svc provider set https://provider.example/v1',
    `  curl -X PUT ${url}/api/model-provider -H 'content-type: application/json' \\`,
    `    -d '{"baseUrl":"https://provider.example/v1","apiKey":"..."}'`,
  ];
}

/** What to do about the secrets that svc.config.ts lists and that are not set. */
export function formatMissing(secrets: string[]): string[] {
  return secrets.map((name) => `The secret ${name} of svc.config.ts is not set: \`svc secrets set ${name}\` sets it.`);
}

/** For a filter: drops what has been said. The compiler and the loader may find the same thing, of which the loader may not know the place. */
export function isFirst(problem: Problem, index: number, all: Problem[]): boolean {
  const { file, message, line, column } = problem;
  const isTop = line === 1 && column === 1;
  const first = all.findIndex(
    (one) => one.file === file && one.message === message && (isTop || (one.line === line && one.column === column)),
  );
  return first === index;
}
