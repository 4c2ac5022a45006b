import { html, nothing, type TemplateResult } from '../../kit/html.ts'
import { effect, type ReadonlySignal, signal, untracked } from '../../kit/signals.ts'
import { type StoredCode, storedCode } from '../../kit/stored-code.ts'
import type { StoredProxy } from '../proxies/types.ts'

const TRANSFORMS = [
  ['request', 'Request transform'],
  ['response', 'Response transform'],
] as const

export type DraftCode = ReturnType<typeof draftCode>

/** Code of the chosen proxy, to be tried before it is saved. Typed code is a draft on the proxy's own page, too. */
export const draftCode = (proxy: ReadonlySignal<StoredProxy | undefined>, within: AbortSignal) => {
  const editors = signal<readonly StoredCode[]>([])
  const dispose = effect(() => {
    const chosen = proxy.value
    const own = new AbortController()
    const editorOf = ([kind, label]: (typeof TRANSFORMS)[number]) =>
      storedCode(
        { id: `${chosen?.id}-${kind}`, label, rows: 10 },
        () => chosen?.[`${kind}_transform`]?.code ?? '',
        own.signal,
      )
    editors.value = chosen === undefined ? [] : untracked(() => TRANSFORMS.map(editorOf))
    return () => own.abort()
  })
  within.addEventListener('abort', dispose)
  const changed = () =>
    editors.value.flatMap((editor, index) =>
      editor.isChanged.value ? [[`${TRANSFORMS[index]?.[0]}_transform`, editor.value() || null]] : [],
    )
  return {
    /** JSON of what differs from the saved code; `''`: nothing. */
    json: () => (changed().length === 0 ? '' : JSON.stringify(Object.fromEntries(changed()))),
    view: (error: string | undefined): TemplateResult | typeof nothing =>
      editors.value.length === 0
        ? nothing
        : html`<details>
              <summary>
                Code of the proxy
                ${changed().length === 0 ? nothing : html`<span class="badge warn">changed, not saved</span>`}
              </summary>
              <p class="small soft">A dry run uses the code here. Send uses the saved code: save it on the page of the proxy.</p>
              ${editors.value.map((editor) => editor.view())}
            </details>
            ${error && html`<p class="error">${error}</p>`}`,
  }
}
