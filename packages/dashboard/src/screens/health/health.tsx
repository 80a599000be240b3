import { useCall } from '../../api/queries.ts';
import { useBox } from '../../app/box.ts';
import { Answer } from '../../ui/answer.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Copy } from '../../ui/copy.tsx';
import { Page, Panel } from '../../ui/page.tsx';
import { Time } from '../../ui/time.tsx';
import { useProbes } from './probes.ts';

export default function Health() {
  const contract = useCall('contract.get', {});
  const services = useCall('services.get', {});
  const probes = useProbes();
  return (
    <Page title="Health">
      <Panel
        title="Probes"
        actions={
          <>
            {probes.dataUpdatedAt > 0 && (
              <span className="text-xs text-muted">
                asked <Time at={probes.dataUpdatedAt} />
              </span>
            )}
            <Button small busy={probes.isFetching} onClick={() => void probes.refetch()}>
              Ask again
            </Button>
          </>
        }
      >
        <Answer of={probes} rows={3}>
          {({ isReady, parts }) => (
            <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-2">
              <Row name="The box">
                {isReady ? <Badge tone="good">ready</Badge> : <Badge tone="bad">not ready</Badge>}
              </Row>
              {parts.map(({ name, text, isGood }) => (
                <Row key={name} name={name}>
                  <Badge tone={isGood ? 'good' : 'bad'}>{text}</Badge>
                </Row>
              ))}
            </dl>
          )}
        </Answer>
      </Panel>
      <Panel title="Contract">
        <Answer of={contract} rows={4}>
          {({ version, minSupported, capabilities, build }) => (
            <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-2">
              <Row name="Version">
                {version} (serves from {minSupported})
              </Row>
              <Row name="Build">
                {build.name} {build.version}
              </Row>
              <Row name="Capabilities">
                <span className="flex flex-wrap gap-1">
                  {capabilities.map((name) => (
                    <Badge key={name}>{name}</Badge>
                  ))}
                </span>
              </Row>
            </dl>
          )}
        </Answer>
      </Panel>
      <Panel title="Addresses">
        <Answer of={services} rows={4}>
          {(answer) => (
            <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-2">
              {listAddresses(answer).map(([name, url]) => (
                <Row key={name} name={name}>
                  <code className="wrap-anywhere">{url}</code> <Copy text={url} what={name} />
                </Row>
              ))}
            </dl>
          )}
        </Answer>
      </Panel>
      <McpConfig />
    </Page>
  );
}

// --- internal ---

function McpConfig() {
  const { bootstrap } = useBox();
  const services = useCall('services.get', {});
  const base = listAddresses(services.data).find(([name]) => name === 'agent url')?.[1];
  if (base === undefined) return null;
  const config = JSON.stringify({ mcpServers: { [bootstrap.name]: { type: 'http', url: `${base}/mcp` } } }, null, 2);
  return (
    <Panel title="For a coding agent (MCP)" actions={<Copy text={config} what="MCP configuration" />}>
      <pre className="overflow-x-auto font-mono text-xs" tabIndex={0}>
        {config}
      </pre>
    </Panel>
  );
}

function Row({ name, children }: { name: string; children: React.ReactNode }) {
  return (
    <>
      <dt className="text-muted">{name}</dt>
      <dd className="min-w-0">{children}</dd>
    </>
  );
}

/** Whatever the services say of themselves that is an address. */
function listAddresses(answer: object | undefined): [name: string, url: string][] {
  return Object.entries(answer ?? {}).flatMap(([name, value]): [string, string][] => {
    if (typeof value === 'string' && value.includes('://')) return [[name, value]];
    if (typeof value !== 'object' || value === null) return [];
    return listAddresses(value).map(([inner, url]) => [`${name} ${inner}`, url]);
  });
}
