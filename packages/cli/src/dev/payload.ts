import { array, boolean, nullable, object, oneOf, open, string } from '../payload/payload.ts';
import type { TypeOf } from '../payload/payload.ts';

/** Whether agents and workflows are started, and why. */
export const GATE = object(
  {
    open: boolean('Whether agents and workflows are started.'),
    reason: oneOf(
      ['model-provider-env', 'model-provider-stored', 'first-run-completed', 'no-model-provider'],
      'Why it is open; closed it is for no-model-provider alone.',
    ),
  },
  'What holds agents and workflows back until there is a model provider.',
);

/** What `svc dev --json` prints once it serves. */
export const DEV_PAYLOAD = object({
  emulator_url: string('The base address of the embedded services.'),
  agent_url: string('The address of the API.'),
  public_url: nullable(string('The address of the tunnel; null without a control plane.')),
  deeplink: nullable(string('Where the control plane shows this box; null without one, or without a tunnel.')),
  local_dev_installation_id: string('The id of this installation, kept in the database.'),
  gate: GATE,
  deep_agents: array(string(), 'The names of the agents served; none while the gate is closed.'),
  services: object(
    {
      postgres_url: string('The database.'),
      s3_endpoint: string('The object storage.'),
      s3_bucket: string('The bucket of this workspace.'),
    },
    'Where the stores of the box are.',
  ),
});
export type DevPayload = TypeOf<typeof DEV_PAYLOAD>;

/** A log record of a box, as it is written on stderr. */
export const LOG_LINE = open({
  time: string('ISO 8601, in UTC.', { format: 'date-time' }),
  level: oneOf(['debug', 'info', 'warn', 'error'], 'How much it matters.'),
  message: string('What happened. Any other member is a field of the record.'),
});
