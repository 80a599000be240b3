/** What `svc dev --json` prints once it serves. */
export interface DevPayload extends Record<string, unknown> {
  emulator_url: string;
  agent_url: string;
  public_url: null;
  deeplink: null;
  local_dev_installation_id: string;
  gate: { open: boolean; reason: string };
  deep_agents: string[];
  services: { postgres_url: string; s3_endpoint: string; s3_bucket: string };
}
