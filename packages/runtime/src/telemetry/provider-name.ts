/** Where model calls go, as spans and figures name it. */
export interface ProviderFacts {
  /** The convention's word for it. */
  name: string;
  address?: string;
  port?: number;
}

/** Whoever speaks the protocol goes by the name of who made it, unless the address says more. */
export const UNKNOWN_PROVIDER: ProviderFacts = { name: 'openai' };

export function toProviderFacts(baseUrl: string): ProviderFacts {
  if (!URL.canParse(baseUrl)) return UNKNOWN_PROVIDER;
  const { hostname, port, protocol } = new URL(baseUrl);
  const name = HOSTS.find(([host]) => hostname === host || hostname.endsWith(`.${host}`))?.[1];
  return {
    name: name ?? UNKNOWN_PROVIDER.name,
    address: hostname,
    port: port === '' ? (protocol === 'http:' ? 80 : 443) : Number(port),
  };
}

// --- internal ---

const HOSTS: readonly (readonly [host: string, name: string])[] = [
  ['openai.azure.com', 'azure.ai.openai'],
  ['inference.ai.azure.com', 'azure.ai.inference'],
  ['anthropic.com', 'anthropic'],
  ['amazonaws.com', 'aws.bedrock'],
  ['aiplatform.googleapis.com', 'gcp.vertex_ai'],
  ['generativelanguage.googleapis.com', 'gcp.gemini'],
  ['mistral.ai', 'mistral_ai'],
  ['deepseek.com', 'deepseek'],
  ['groq.com', 'groq'],
  ['perplexity.ai', 'perplexity'],
  ['cohere.com', 'cohere'],
  ['x.ai', 'x_ai'],
];
