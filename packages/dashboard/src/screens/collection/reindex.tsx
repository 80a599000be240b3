import { useState } from 'react';
import { useChange } from '../../api/queries.ts';
import { Field, Input } from '../../ui/field.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { ModelField } from '../../ui/model-field.tsx';
import { toast } from '../../ui/toast.tsx';
import type { Collection } from '../knowledge/index-state.tsx';

/** Has all documents re-embedded, under a model. */
export function Reindex({ collection, onClose }: { collection: Collection; onClose(): void }) {
  const { name, embedding, index } = collection;
  const reindex = useChange('rag.collections.reindex');
  const [model, setModel] = useState('');
  const [dimension, setDimension] = useState('');
  const submit = async () => {
    await reindex.mutateAsync({
      name,
      ...(model.trim() === '' ? {} : { model: model.trim() }),
      ...(dimension === '' ? {} : { dimension: Number(dimension) }),
    });
    toast(`${name} is being re-embedded.`);
    onClose();
  };
  return (
    <FormDialog title={`Re-embed ${name}`} verb="Embed" onSubmit={submit} onClose={onClose}>
      <p>
        All documents are cut with the current settings of the collection, and embedded. Searches are answered as before
        until the last one is done, and by the new vectors from then on.
      </p>
      {index.next && (
        <p className="text-warn wrap-anywhere">
          It is being embedded with <code>{index.next.model}</code> already. Another model takes the place of that.
        </p>
      )}
      <ModelField
        label="Embedding model"
        hint={`Default: the one it has, ${embedding.model}`}
        value={model}
        onChange={setModel}
      />
      <Field label="Dimensions of a vector" hint="Default: as the model gives">
        {(parts) => (
          <Input
            {...parts}
            type="number"
            min={1}
            value={dimension}
            onChange={({ target }) => setDimension(target.value)}
          />
        )}
      </Field>
    </FormDialog>
  );
}
