import { Button } from '../../ui/button.tsx';
import { Copy } from '../../ui/copy.tsx';
import { Dialog } from '../../ui/dialog.tsx';

/** What a key is given, and no one sees again. */
export interface KeyValue {
  name: string;
  value: string;
  userSecret: string | null;
}

export function ShownOnce({ of: { name, value, userSecret }, onClose }: { of: KeyValue; onClose(): void }) {
  return (
    <Dialog
      title={`The value of “${name}”`}
      onClose={onClose}
      actions={
        <Button look="primary" onClick={onClose}>
          I have kept it
        </Button>
      }
    >
      <p className="text-muted">It is shown this once. Keep it where your program reads its secrets.</p>
      <Secret label="Key" value={value} />
      {userSecret !== null && <Secret label="Secret for tokens of users" value={userSecret} />}
    </Dialog>
  );
}

// --- internal ---

function Secret({ label, value }: { label: string; value: string }) {
  return (
    <div className="mt-3">
      <p className="font-medium">{label}</p>
      <p className="flex items-center gap-2 rounded border border-line bg-raised px-3 py-2">
        <code className="min-w-0 flex-1 wrap-anywhere">{value}</code>
        <Copy text={value} what={label} />
      </p>
    </div>
  );
}
