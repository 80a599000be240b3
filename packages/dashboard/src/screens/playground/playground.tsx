import { useRef, useState } from 'react';
import { newId } from '../../api/new-id.ts';
import { useCall } from '../../api/queries.ts';
import { useSearchState } from '../../app/search.ts';
import type { ChatMessage } from '../../chat/message.ts';
import { COPILOT_AGENT } from '../../copilot/agent.ts';
import { Answer } from '../../ui/answer.tsx';
import { Button } from '../../ui/button.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Field, Select } from '../../ui/field.tsx';
import { Page } from '../../ui/page.tsx';
import { Conversation } from './conversation.tsx';
import { TriedPrompt } from './tried-prompt.tsx';

/** What a new conversation begins with. */
export interface Beginning {
  messages: readonly ChatMessage[];
  text: string;
}

export default function Playground() {
  const agents = useCall('discovery.get', {});
  if (!agents.data)
    return (
      <Page title="Playground">
        <Answer of={agents}>{() => null}</Answer>
      </Page>
    );
  return <Open names={agents.data.agents} />;
}

// --- internal ---

function Open({ names }: { names: readonly string[] }) {
  const [{ agent: named, session: open, prompt }, change] = useSearchState();
  // The copilot has a panel of its own.
  const [asked, session] = named === COPILOT_AGENT ? [] : [named, open];
  // A session that nothing was said in has no place in the address yet.
  const [fresh, setFresh] = useState<string>(() => newId());
  const beginnings = useRef(new Map<string, Beginning>());
  const agent = asked ?? names[0];
  if (agent === undefined)
    return (
      <Page title="Playground">
        <Empty title="There is no agent yet">
          Make one with <code>svc add agent &lt;name&gt;</code>. It appears here once its file is saved.
        </Empty>
      </Page>
    );
  const threadId = session ?? fresh;
  const startAnew = (of: string): void => {
    setFresh(newId());
    change({ agent: of, session: undefined }, 'push');
  };
  const shown = names.includes(agent) ? names : [agent, ...names];
  return (
    <div className="flex h-[calc(100dvh-3.6rem)] min-h-80 flex-col md:h-dvh">
      <TriedPrompt of={prompt} onEnd={() => change({ prompt: undefined })} />
      <Conversation
        key={`${agent} ${threadId}`}
        agent={agent}
        threadId={threadId}
        isNew={session === undefined}
        beginning={beginnings.current.get(threadId)}
        prompt={prompt}
        onBegin={() => {
          beginnings.current.delete(threadId);
          if (session !== threadId || asked !== agent) change({ agent, session: threadId });
        }}
        onBranch={(beginning) => {
          const id = newId();
          beginnings.current.set(id, beginning);
          change({ agent, session: id }, 'push');
        }}
      >
        <div className="w-44">
          <Field label="Agent" quiet>
            {(parts) => (
              <Select
                {...parts}
                value={agent}
                options={shown.map((name) => [name, name] as const)}
                onChange={(event) => startAnew(event.target.value)}
              />
            )}
          </Field>
        </div>
        <Button onClick={() => startAnew(agent)}>New session</Button>
      </Conversation>
    </div>
  );
}
