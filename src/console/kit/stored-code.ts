import { type CodeEditor, codeEditor } from './code-editor.ts'
import { confirm } from './dialog.ts'
import { difference } from './difference.ts'
import { html } from './html.ts'
import { normalizeLineEndings, withLineEndings } from './line-difference.ts'
import { computed, effect, type ReadonlySignal, untracked } from './signals.ts'

/** Texts that were not saved when their page was left, in memory only: signing out reloads the page. */
const drafts = new Map<string, { readonly text: string; readonly base: string }>()

export interface StoredCode extends CodeEditor {
  readonly label: string
  readonly isChanged: ReadonlySignal<boolean>
  /** The text to save, with the line endings of the stored code. */
  value(): string
  /** The stored code that the text was made from. */
  base(): string
  discard(): void
}

/**
 * An editor of code that is stored. It follows `stored`, which reads signals, until somebody types. What was typed
 * comes back when the page is opened again. `id` is unique among all pages.
 */
export const storedCode = (
  { id, label, rows }: { readonly id: string; readonly label: string; readonly rows?: number },
  stored: () => string,
  within: AbortSignal,
): StoredCode => {
  const draft = drafts.get(id)
  drafts.delete(id)
  let base = draft?.base ?? stored()
  const editor = codeEditor({ id, label, text: draft?.text ?? base, ...(rows === undefined ? {} : { rows }) })
  const isChanged = computed(() => editor.text.value !== normalizeLineEndings(stored()))
  const follow = (next: string) => {
    const text = editor.text.value
    if (text !== normalizeLineEndings(base) && text !== normalizeLineEndings(next)) return
    base = next
    editor.text.value = normalizeLineEndings(next)
  }
  const dispose = effect(() => {
    const next = stored()
    untracked(() => follow(next))
  })
  within.addEventListener('abort', () => {
    if (isChanged.peek()) drafts.set(id, { text: editor.text.peek(), base })
    dispose()
  })
  return {
    ...editor,
    label,
    isChanged,
    value: () => withLineEndings(editor.text.peek(), base),
    base: () => base,
    discard: () => {
      base = stored()
      editor.text.value = normalizeLineEndings(base)
    },
  }
}

/** Asks before a save replaces what somebody else saved since. `now`: what is stored now. */
export const confirmOverwrite = async (
  codes: readonly { readonly code: StoredCode; readonly now: string }[],
): Promise<boolean> => {
  const others = codes.filter(({ code, now }) => now !== code.base() && now !== code.value())
  if (others.length === 0) return true
  return confirm({
    title: 'The code was changed since you opened it',
    body: html`<p>Saving replaces these changes.</p>
      ${others.map(({ code, now }) => difference(code.base(), now, code.label))}`,
    action: 'Replace them',
    danger: true,
  })
}
