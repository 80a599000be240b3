import { Copy } from '../../ui/copy.tsx';
import { Json } from '../../ui/json/json.tsx';
import { Time } from '../../ui/time.tsx';
import { senderOf, Target } from '../triggers/trigger-state.tsx';
import { Code, Fact } from '../../ui/fact.tsx';
import { PollFacts } from './poll-facts.tsx';
import type { Trigger } from '../triggers/trigger-state.tsx';

/** What a trigger is set to. None of it is secret. */
export function Facts({ trigger }: { trigger: Trigger }) {
  const { target, events, event, where, deduplicate, mapping, createdBy, createdAt } = trigger;
  return (
    <>
      <dl className="grid grid-cols-1 gap-x-4 gap-y-1 sm:grid-cols-[auto_1fr]">
        <Fact title="Starts">
          {'workflow' in target ? 'workflow ' : 'agent '}
          <Target of={target} />
        </Fact>
        {trigger.kind === 'poll' ? <PollFacts trigger={trigger} /> : <SenderFacts trigger={trigger} />}
        <Fact title="Events">
          <Code>{events?.join(' ') ?? 'all'}</Code>
        </Fact>
        {event !== null && (
          <Fact title="Where the event is">
            <Code>{event}</Code>
          </Fact>
        )}
        {deduplicate !== null && (
          <Fact title="Where its id is">
            <Code>{deduplicate}</Code>
          </Fact>
        )}
        <Fact title="Made">
          <Time at={createdAt} /> by <bdi>{createdBy}</bdi>
        </Fact>
      </dl>
      {where !== null && <Part title="Filter" value={where} />}
      {mapping !== null && <Part title="What it gives" value={mapping} />}
    </>
  );
}

// --- internal ---

function SenderFacts({ trigger }: { trigger: Trigger }) {
  const { url, signature, secrets } = trigger;
  const { scheme: _, ...members } = signature ?? {};
  return (
    <>
      <Fact title="To enter at the service">
        <span className="flex flex-wrap items-center gap-2">
          <Code>{url}</Code>
          <Copy text={url ?? ''} what="the address" />
        </span>
      </Fact>
      <Fact title="Who calls">
        {senderOf(trigger)}
        {Object.entries(members).map(([member, value]) => (
          <span key={member}>
            {', '}
            <Code>
              {member} {value}
            </Code>
          </span>
        ))}
      </Fact>
      <Fact title="Secrets">
        {secrets === 2 ? 'two: the previous one is still valid' : secrets === 1 ? 'one' : 'none'}
      </Fact>
    </>
  );
}

function Part({ title, value }: { title: string; value: unknown }) {
  return (
    <div className="mt-3">
      <h3 className="mb-1 font-medium">{title}</h3>
      <Json value={value} label={title} />
    </div>
  );
}
