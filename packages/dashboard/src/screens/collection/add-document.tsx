import { useState } from 'react';
import { useChange } from '../../api/queries.ts';
import { Field, Input, Select, Textarea } from '../../ui/field.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { toast } from '../../ui/toast.tsx';
import { parseObject } from '../../form/parse-json.ts';

type Format = 'markdown' | 'text';

/** Adds a document as text, or replaces that of the same id. */
export function AddDocument({ name, onClose }: { name: string; onClose(): void }) {
  const add = useChange('rag.documents.add');
  const [id, setId] = useState('');
  const [title, setTitle] = useState('');
  const [text, setText] = useState('');
  const [format, setFormat] = useState<Format>('markdown');
  const [metadata, setMetadata] = useState('');
  const submit = async () => {
    const { state } = await add.mutateAsync({
      name,
      id: id.trim(),
      text,
      format,
      ...(title.trim() === '' ? {} : { title: title.trim() }),
      metadata: parseObject('The metadata', metadata) as never,
    });
    toast(state === 'ready' ? `${id} is the same as it was.` : `${id} is being embedded.`);
    onClose();
  };
  return (
    <FormDialog
      title={`Add a document to ${name}`}
      verb="Add"
      incomplete={id.trim() === '' || text === ''}
      onSubmit={submit}
      onClose={onClose}
    >
      <Field label="Id" hint="A path or a number of its own; a document of the same id is replaced">
        {(parts) => <Input {...parts} value={id} onChange={({ target }) => setId(target.value)} />}
      </Field>
      <Field label="Title" hint="What sources call it">
        {(parts) => <Input {...parts} value={title} onChange={({ target }) => setTitle(target.value)} />}
      </Field>
      <Field label="Text" hint="At most 1,000,000 characters">
        {(parts) => <Textarea {...parts} rows={8} value={text} onChange={({ target }) => setText(target.value)} />}
      </Field>
      <Field label="Format">
        {(parts) => (
          <Select
            {...parts}
            value={format}
            onChange={({ target }) => setFormat(target.value as Format)}
            options={[
              ['markdown', 'Markdown: headings and code are looked for'],
              ['text', 'Plain text'],
            ]}
          />
        )}
      </Field>
      <Field label="Metadata" hint={'What searches filter by, as JSON: {"team": "billing"}'}>
        {(parts) => (
          <Textarea {...parts} rows={2} value={metadata} onChange={({ target }) => setMetadata(target.value)} />
        )}
      </Field>
    </FormDialog>
  );
}
