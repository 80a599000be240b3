import { useCall, useChange } from '../../api/queries.ts';
import { useMay } from '../../app/box.ts';
import { useDialogs } from '../../app/search.ts';
import { Answer } from '../../ui/answer.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Confirm } from '../../ui/confirm.tsx';
import { Panel } from '../../ui/page.tsx';
import { BrowserAddress } from './browser-address.tsx';
import { BrowserLimits } from './browser-limits.tsx';
import { BROWSER_ROOMS } from './browser.ts';
import type { BrowserSettings } from './browser.ts';

/** Where the browser is that code and agents drive, and how much of it they use. Its key is written, and never shown. */
export function BrowserCard() {
  const browser = useCall('browser.get', {});
  const mayWrite = useMay()('browser:write');
  const remove = useChange('browser.delete', BROWSER_ROOMS);
  const { asked, ask, close } = useDialogs('remove-browser');
  return (
    <Panel title="Browser">
      <Answer of={browser} rows={2}>
        {(settings) => (
          <div className="flex flex-col gap-3">
            <Now settings={settings} />
            {mayWrite && settings.source !== 'environment' && <BrowserAddress settings={settings} />}
            {mayWrite && <BrowserLimits key={JSON.stringify(settings.limits)} settings={settings} />}
            {mayWrite && settings.source === 'stored' && (
              <div>
                <Button look="danger" onClick={() => ask('remove-browser')}>
                  Remove the browser
                </Button>
              </div>
            )}
          </div>
        )}
      </Answer>
      {asked['remove-browser'] && mayWrite && browser.data?.source === 'stored' && (
        <Confirm
          title="Remove the browser?"
          verb="Remove"
          danger
          onClose={close}
          onConfirm={() => remove.mutateAsync({})}
        >
          Agents and workflows have none until there is another. Its key and its limits are deleted with it.
        </Confirm>
      )}
    </Panel>
  );
}

// --- internal ---

function Now({
  settings: { url, source, hasKey, works, problem, limits, allowedHosts },
}: {
  settings: BrowserSettings;
}) {
  const hosts = allowedHosts.length === 0 ? 'any host that is not private' : allowedHosts.join(', ');
  return (
    <>
      <p className="flex flex-wrap items-center gap-2">
        {url === null ? (
          'None is set: agents and workflows open no pages.'
        ) : (
          <>
            <code className="wrap-anywhere">{url}</code>
            <Badge>{source === 'stored' ? 'set here' : 'from the environment'}</Badge>
            <Badge tone={hasKey ? 'good' : 'neutral'}>{hasKey ? 'with a key' : 'without a key'}</Badge>
            <span role="status">
              <Badge tone={works === null ? 'neutral' : works ? 'good' : 'bad'}>
                {works === null ? 'not asked yet' : works ? 'answers' : 'does not answer'}
              </Badge>
            </span>
          </>
        )}
      </p>
      {problem !== null && <bdi className="block wrap-anywhere text-bad">{problem}</bdi>}
      {url !== null && (
        <p className="text-muted">
          Up to {limits.sessions} sessions of {limits.pages} pages each, for {limits.sessionSeconds} seconds, or{' '}
          {limits.idleSeconds} without a call of a tool. Pages may ask <span className="wrap-anywhere">{hosts}</span>.
        </p>
      )}
    </>
  );
}
