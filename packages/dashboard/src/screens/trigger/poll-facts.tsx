import { Code, Fact } from '../../ui/fact.tsx';
import { Link } from '../../ui/link.tsx';
import { Time } from '../../ui/time.tsx';
import { cadenceOf } from '../triggers/trigger-state.tsx';
import type { Trigger } from '../triggers/trigger-state.tsx';

/** What a poll asks for, and how far it has come. */
export function PollFacts({ trigger: { poll, polling } }: { trigger: Trigger }) {
  if (!poll || !polling) return null;
  const { url, connection, headers, items, from } = poll;
  const { lastPolledAt, nextPollAt, status, failures, problem } = polling;
  return (
    <>
      <Fact title="Asks">
        <Code>{url}</Code>
        {connection !== undefined && (
          <>
            {' as '}
            <Link to={`/connections/${encodeURIComponent(connection)}`}>
              <bdi>{connection}</bdi>
            </Link>
          </>
        )}
      </Fact>
      <Fact title="How often">{cadenceOf(poll)}</Fact>
      <Fact title="Where the list is">{items === 'body' ? 'the answer itself' : <Code>{items}</Code>}</Fact>
      {headers && (
        <Fact title="Headers">
          {Object.entries(headers).map(([name, value]) => (
            <Code key={name}>
              {name}: {value}{' '}
            </Code>
          ))}
        </Fact>
      )}
      <Fact title="What was there at first">{from === 'all' ? 'was delivered' : 'was only noted'}</Fact>
      <Fact title="Last asked">
        {lastPolledAt === null ? 'not yet' : <Time at={lastPolledAt} />}
        {status !== null && <span className="text-muted"> {toSaid(status)}</span>}
      </Fact>
      {problem && (
        <Fact title="Why it fails">
          <bdi className="wrap-anywhere text-bad">{problem.message}</bdi>
          {failures > 1 && <span className="text-muted"> {failures.toLocaleString('en')} times in a row</span>}
        </Fact>
      )}
      <Fact title="Asks next">{nextPollAt === null ? 'not while it is disabled' : <Time at={nextPollAt} />}</Fact>
      <Fact title="Items">
        {polling.items.toLocaleString('en')} in the last answer, {polling.seen.toLocaleString('en')} seen in all
      </Fact>
    </>
  );
}

// --- internal ---

function toSaid(status: number): string {
  if (status === 304) return 'nothing had changed';
  return status === 200 ? 'answered' : `answered ${status}`;
}
