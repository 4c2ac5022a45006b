import { copy } from '../../kit/copy.ts'
import { dialog } from '../../kit/dialog.ts'
import { html } from '../../kit/html.ts'

/** Shows a new key once; it leaves the page with the dialog. */
export const showKey = (name: string, key: string | undefined): Promise<void> =>
  dialog({
    title: `Key of ${name}`,
    body: (close) =>
      key === undefined
        ? html`<p>The key was shown before. Create another one, then delete this one.</p>
            <div class="buttons"><button type="button" class="primary" @click=${() => close()}>Close</button></div>`
        : html`<p><strong>This key is shown once.</strong> Store it now: Sidevault has a hash of it only.</p>
            <p><code class="new-key" tabindex="0" aria-label="Key">${key}</code></p>
            <div class="buttons">
              <button type="button" @click=${() => void copy(key, 'Key copied.')}>Copy</button>
              <button type="button" class="primary" @click=${() => close()}>I have stored it</button>
            </div>`,
  })
