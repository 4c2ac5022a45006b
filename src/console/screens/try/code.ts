import { html, nothing, type TemplateResult } from '../../kit/html.ts'
import { effect, type ReadonlySignal, signal, untracked } from '../../kit/signals.ts'
import { type StoredCode, storedCode } from '../../kit/stored-code.ts'
import type { StoredProxy } from '../proxies/types.ts'

const KINDS = ['request', 'response'] as const

export interface DraftCode {
  /** JSON of what differs from the saved code; `''`: nothing. */
  json(): string
  view(): TemplateResult | typeof nothing
}

/** Code of the chosen proxy, to be tried before it is saved. Typed code is a draft on the proxy's own page, too. */
export const draftCode = (proxy: ReadonlySignal<StoredProxy | undefined>, within: AbortSignal): DraftCode => {
  const editors = signal<readonly StoredCode[]>([])
  let own = new AbortController()
  const dispose = effect(() => {
    const chosen = proxy.value
    untracked(() => {
      own.abort()
      own = new AbortController()
      editors.value =
        chosen === undefined
          ? []
          : KINDS.map((kind) =>
              storedCode(
                {
                  id: `${chosen.id}-${kind}`,
                  label: `${kind === 'request' ? 'Request' : 'Response'} transform`,
                  rows: 10,
                },
                () => chosen[`${kind}_transform`]?.code ?? '',
                own.signal,
              ),
            )
    })
  })
  within.addEventListener('abort', () => {
    dispose()
    own.abort()
  })
  const changed = () =>
    editors.value.flatMap((editor, index) =>
      editor.isChanged.value ? [[`${KINDS[index]}_transform`, editor.value() || null] as const] : [],
    )
  return {
    json: () => (changed().length === 0 ? '' : JSON.stringify(Object.fromEntries(changed()))),
    view: () =>
      editors.value.length === 0
        ? nothing
        : html`<details>
            <summary>
              Code of the proxy
              ${changed().length === 0 ? nothing : html`<span class="badge warn">changed, not saved</span>`}
            </summary>
            <p class="small soft">A dry run uses the code here. Send uses the saved code: save it on the page of the proxy.</p>
            ${editors.value.map((editor) => editor.view())}
          </details>`,
  }
}
