import { Button } from '../../ui/button.tsx';
import { Copy } from '../../ui/copy.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Time } from '../../ui/time.tsx';
import type { MadeInvite } from './new-invite.tsx';

/** The one time that it is shown. */
export function InviteLink({ of: { email, role, url, expiresAt }, onClose }: { of: MadeInvite; onClose(): void }) {
  return (
    <Dialog
      title={`The invite of ${email}`}
      onClose={onClose}
      actions={
        <Button look="primary" onClick={onClose}>
          I have kept it
        </Button>
      }
    >
      <p className="text-muted">
        Whoever opens it signs up or in with that address, and is {role} from then on. It is shown this once, and good
        until <Time at={expiresAt} />.
      </p>
      <p className="mt-3 flex items-center gap-2 rounded border border-line bg-raised px-3 py-2">
        <code className="min-w-0 flex-1 wrap-anywhere">{url}</code>
        <Copy text={url} what="the link" />
      </p>
    </Dialog>
  );
}
