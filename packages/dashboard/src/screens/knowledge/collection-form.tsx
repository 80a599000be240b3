import { useState } from 'react';
import { useChange } from '../../api/queries.ts';
import { useGoOn } from '../../app/search.ts';
import { Checkbox } from '../../ui/checkbox.tsx';
import { Field, Input, Textarea } from '../../ui/field.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { ModelField } from '../../ui/model-field.tsx';
import { toast } from '../../ui/toast.tsx';
import type { Collection } from './index-state.tsx';

/** Makes a collection, or changes what it says of itself, what reranks its searches and how documents are cut. */
export function CollectionForm({ collection, onClose }: { collection?: Collection; onClose(): void }) {
  const goOn = useGoOn();
  const create = useChange('rag.collections.create');
  const update = useChange('rag.collections.update');
  const [name, setName] = useState(collection?.name ?? '');
  const [description, setDescription] = useState(collection?.description ?? '');
  const [model, setModel] = useState('');
  const [dimension, setDimension] = useState('');
  const [rerankModel, setRerankModel] = useState(collection?.rerankModel ?? '');
  const [size, setSize] = useState(toText(collection?.chunking.size));
  const [overlap, setOverlap] = useState(toText(collection?.chunking.overlap));
  const [isMarkdown, setMarkdown] = useState(collection?.chunking.markdown ?? true);
  const submit = async () => {
    const chunking = { ...toNumber('size', size), ...toNumber('overlap', overlap), markdown: isMarkdown };
    const text = description.trim();
    const rerank = rerankModel.trim();
    if (collection) {
      await update.mutateAsync({
        name,
        description: text === '' ? null : text,
        rerankModel: rerank === '' ? null : rerank,
        chunking,
      });
      toast(`${name} is changed.`);
      return onClose();
    }
    await create.mutateAsync({
      name: name.trim(),
      ...(text === '' ? {} : { description: text }),
      ...(model.trim() === '' ? {} : { model: model.trim() }),
      ...toNumber('dimension', dimension),
      ...(rerank === '' ? {} : { rerankModel: rerank }),
      chunking,
    });
    await goOn(`/knowledge/${name.trim()}`);
  };
  return (
    <FormDialog
      title={collection ? `Change ${collection.name}` : 'New collection'}
      verb={collection ? 'Save' : 'Create'}
      incomplete={name.trim() === ''}
      onSubmit={submit}
      onClose={onClose}
    >
      {!collection && (
        <Field label="Name" hint="1 to 63 lower-case letters, digits and “-”">
          {(parts) => <Input {...parts} value={name} onChange={({ target }) => setName(target.value)} />}
        </Field>
      )}
      <Field label="Description" hint="What is in it, for people and for models that may search it">
        {(parts) => (
          <Textarea {...parts} rows={3} value={description} onChange={({ target }) => setDescription(target.value)} />
        )}
      </Field>
      {!collection && (
        <div className="grid gap-3 sm:grid-cols-2">
          <ModelField
            label="Embedding model"
            hint="Kept with it. Default: that of the workspace"
            value={model}
            onChange={setModel}
          />
          <Count
            label="Dimensions of a vector"
            hint="Default: as the model gives"
            value={dimension}
            onChange={setDimension}
          />
        </div>
      )}
      <ModelField
        label="Rerank model"
        hint="Puts what searches find in its order, unless a search says otherwise. Empty: none"
        value={rerankModel}
        onChange={setRerankModel}
      />
      <div className="grid gap-3 sm:grid-cols-2">
        <Count label="Tokens of a chunk" hint="50 to 2,000. Default: 400" value={size} onChange={setSize} />
        <Count label="Tokens repeated" hint="Of the chunk before. Default: 60" value={overlap} onChange={setOverlap} />
      </div>
      <Checkbox value={isMarkdown} onChange={setMarkdown}>
        Split chunks at Markdown headings
      </Checkbox>
      {collection && <p className="text-xs text-muted">This applies to documents that are added from now on.</p>}
    </FormDialog>
  );
}

// --- internal ---

interface CountProps {
  label: string;
  hint: string;
  value: string;
  onChange(value: string): void;
}

function Count({ label, hint, value, onChange }: CountProps) {
  return (
    <Field label={label} hint={hint}>
      {(parts) => (
        <Input {...parts} type="number" min={0} value={value} onChange={({ target }) => onChange(target.value)} />
      )}
    </Field>
  );
}

function toText(number: number | undefined): string {
  return number === undefined ? '' : String(number);
}

function toNumber<Name extends string>(name: Name, text: string): { [member in Name]?: number } {
  return (text === '' ? {} : { [name]: Number(text) }) as { [member in Name]?: number };
}
