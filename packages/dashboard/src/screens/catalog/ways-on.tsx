import { useCall } from '../../api/queries.ts';
import { useMay } from '../../app/box.ts';
import { Link } from '../../ui/link.tsx';
import { Refused } from '../../ui/refused.tsx';

/** Where an entry is worked with: what an agent is asked on, its prompts, the screen of a prompt, the agent of a tool. */
export function WaysOn({ kind, name }: { kind: 'agent' | 'workflow' | 'tool' | 'prompt'; name: string }) {
  const may = useMay();
  const mayPrompts = may('config:write');
  if (kind === 'tool') {
    const agent = name.slice(0, name.lastIndexOf(':'));
    return (
      <p>
        Used by{' '}
        <Link to="/catalog" search={{ open: `agent/${agent}` }}>
          {agent}
        </Link>
      </p>
    );
  }
  if (kind === 'prompt') return mayPrompts ? <PromptScreen name={name} /> : null;
  return (
    <ul className="flex flex-wrap gap-x-4 gap-y-1">
      {kind === 'workflow' && (
        <li>
          <Link to={`/workflows/${encodeURIComponent(name)}`}>Open the workflow</Link>
        </li>
      )}
      {kind === 'agent' && may('agents:chat') && (
        <li>
          <Link to="/playground" search={{ agent: name }}>
            Talk to it
          </Link>
        </li>
      )}
      <li>
        <Link to="/runs" search={{ name }}>
          Its runs
        </Link>
      </li>
      {kind === 'agent' && may('keys:write') && (
        <li>
          <Link to="/keys" search={{ create: '1', agent: name }}>
            Make a key for it
          </Link>
        </li>
      )}
      {kind === 'agent' && may('keys:read') && (
        <li>
          <Link to="/usage" search={{ id: name }}>
            What it has used
          </Link>
        </li>
      )}
      {mayPrompts && <PromptsOf kind={kind} name={name} />}
    </ul>
  );
}

// --- internal ---

function PromptsOf({ kind, name }: { kind: 'agent' | 'workflow'; name: string }) {
  const prompts = useCall('prompts.list', { ownerKind: kind, ownerName: name, limit: 20 });
  if (!prompts.data)
    return prompts.error ? (
      <li>
        <Refused of={prompts} what="Its prompts" />
      </li>
    ) : null;
  return prompts.data.items.map(({ id, name: called }) => (
    <li key={id}>
      Prompt{' '}
      <Link to={`/prompts/${id}`}>
        <bdi>{called}</bdi>
      </Link>
    </li>
  ));
}

/** Its name in the catalog is that of its owner, and its key. */
function PromptScreen({ name }: { name: string }) {
  const [ownerKind = '', ...rest] = name.split(':');
  const key = rest.pop() ?? '';
  const owner = { ownerKind: ownerKind as 'agent', ownerName: rest.join(':'), key };
  const prompts = useCall('prompts.list', { ...owner, limit: 1 });
  const [found] = prompts.data?.items ?? [];
  return found ? (
    <p>
      <Link to={`/prompts/${found.id}`}>Open the prompt</Link>
    </p>
  ) : (
    <Refused of={prompts} what="The prompt" />
  );
}
