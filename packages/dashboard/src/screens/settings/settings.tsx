import type { OperationOutput } from '@svc/runtime/client';
import { useCall } from '../../api/queries.ts';
import { useMay } from '../../app/box.ts';
import { Answer } from '../../ui/answer.tsx';
import { Page } from '../../ui/page.tsx';
import { DaysCard, McpCard } from './admin-cards.tsx';
import { BrowserCard } from './browser-card.tsx';
import { CopilotCard } from './copilot-card.tsx';
import { ModelDefaultsCard } from './model-defaults-card.tsx';
import { ProviderCard } from './provider-card.tsx';
import { WorkspaceCard } from './workspace-card.tsx';

export type WorkspaceSettings = OperationOutput<'settings.get'>;

/** What the workspace is set to. */
export default function Settings() {
  const settings = useCall('settings.get', {});
  const may = useMay();
  return (
    <Page title="Settings">
      <Answer of={settings}>
        {(detail) => (
          <>
            <WorkspaceCard settings={detail} />
            {may('provider:read') && <ProviderCard />}
            <ModelDefaultsCard settings={detail} />
            <CopilotCard settings={detail} />
            {may('browser:read') && <BrowserCard />}
            <DaysCard
              title="Logs are kept for"
              operation="settings.retention"
              days={detail.logRetentionDays}
              otherwise="as long as svc.config.ts says"
            />
            <DaysCard
              title="A key that is created without an expiry is valid for"
              operation="settings.key_expiry"
              days={detail.keyDays}
              otherwise="ever"
            />
            <McpCard settings={detail} />
          </>
        )}
      </Answer>
    </Page>
  );
}
