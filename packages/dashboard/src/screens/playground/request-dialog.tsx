import { useMemo } from 'react';
import { useCall } from '../../api/queries.ts';
import { useBox, useMay } from '../../app/box.ts';
import { useSearchState } from '../../app/search.ts';
import { toRequestTexts } from '../../chat/requests.ts';
import { Button } from '../../ui/button.tsx';
import { Copy } from '../../ui/copy.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Link } from '../../ui/link.tsx';
import { Tabs } from '../../ui/tabs.tsx';

export interface RequestDialogProps {
  agent: string;
  threadId: string;
  message: string;
  /** Which client says it. */
  client: string;
  onClose(): void;
}

/** What was said last, as other clients of the box would say it. */
export function RequestDialog({ agent, threadId, message, client, onClose }: RequestDialogProps) {
  const may = useMay();
  const baseUrl = useAddress();
  const [, change] = useSearchState();
  const texts = useMemo(
    () => toRequestTexts({ baseUrl, agent, threadId, message }),
    [baseUrl, agent, threadId, message],
  );
  const shown = texts.find(({ id }) => id === client) ?? texts[0];
  return (
    <Dialog
      wide
      title="The same request"
      onClose={onClose}
      actions={
        <>
          <Copy text={shown?.text ?? ''} what="request" />
          <Button onClick={onClose}>Close</Button>
        </>
      }
    >
      <p className="mb-2 text-muted">
        <code>BOX_KEY</code> is an API key of the box; with <code>svc dev</code> any text will do.{' '}
        {may('keys:write') && (
          <Link to="/keys" search={{ create: '1', agent }}>
            Make a key for {agent}
          </Link>
        )}
      </p>
      <Tabs
        label="Client"
        value={shown?.id ?? ''}
        onChange={(next) => change({ request: next })}
        tabs={texts.map(({ id, title, text }) => ({
          id,
          title,
          content: () => (
            <pre tabIndex={0} className="max-h-[50dvh] overflow-auto rounded bg-page p-3 font-mono text-xs">
              {text}
            </pre>
          ),
        }))}
      />
    </Dialog>
  );
}

// --- internal ---

/** Behind a control plane a page reaches the box by another way than its clients do. */
function useAddress(): string {
  const { bootstrap } = useBox();
  const may = useMay();
  const isBehind = bootstrap.place === 'standalone' && may('services:read');
  const services = useCall('services.get', {}, { enabled: isBehind });
  const { agent } = (services.data ?? {}) as { agent?: { url?: string } };
  return (isBehind ? agent?.url : undefined) ?? new URL(bootstrap.box, location.origin).href.replace(/\/$/, '');
}
