import { field } from '../../kit/form.ts'
import { html, type TemplateResult } from '../../kit/html.ts'
import { type Metadata, metadataText } from './metadata-text.ts'

export const metadataField = (error: string | undefined, metadata: Metadata = {}): TemplateResult =>
  field({
    label: 'Metadata',
    hint: 'One entry a line: key: value. It is stored in clear text: no sensitive data here.',
    error,
    control: html`<textarea
      name="metadata"
      rows="4"
      spellcheck="false"
      placeholder="order: 1001"
      .defaultValue=${metadataText(metadata)}
    ></textarea>`,
  })
