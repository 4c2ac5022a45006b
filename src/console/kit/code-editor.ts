import {
  type Diagnostic,
  type Edit,
  indent,
  lineCount,
  newLine,
  offsetAt,
  outdent,
  positionAt,
} from './code-text.ts'
import { html, live, nothing, ref, type TemplateResult } from './html.ts'
import { normalizeLineEndings } from './line-difference.ts'
import { computed, type Signal, signal } from './signals.ts'

export interface CodeEditor {
  /** The text, with line feeds alone. Setting it ends the history of undo. */
  readonly text: Signal<string>
  view(state?: {
    readonly problems?: readonly Diagnostic[]
    /** A sentence about all of it. */
    readonly error?: string | undefined
    readonly readonly?: boolean
  }): TemplateResult
}

/** Characters that the API stores. */
const MAX_LENGTH = 50_000

/** Lines that an edit inserts for undo: with thousands, Chromium takes minutes. */
const MAX_UNDONE = 200

/** Makes the edit where the browser records it for undo. */
const apply = (area: HTMLTextAreaElement, edit: Edit): void => {
  area.setSelectionRange(edit.from, edit.to)
  // No other call of the platform keeps the history of undo.
  const done =
    lineCount(edit.insert) <= MAX_UNDONE &&
    document.execCommand(edit.insert === '' ? 'delete' : 'insertText', false, edit.insert)
  if (!done) {
    area.setRangeText(edit.insert)
    area.dispatchEvent(new InputEvent('input', { bubbles: true }))
  }
  area.setSelectionRange(edit.start, edit.end)
}

const areaIn = (event: Event): HTMLTextAreaElement => event.currentTarget as HTMLTextAreaElement

/** Shows the selection: browsers scroll to a caret on focus only. */
const scrollTo = (area: HTMLTextAreaElement, line: number): void => {
  const height = Number.parseFloat(getComputedStyle(area).lineHeight)
  const top = (line - 1) * height
  if (top < area.scrollTop || top + height > area.scrollTop + area.clientHeight)
    area.scrollTop = Math.max(0, top - area.clientHeight / 2)
}

/**
 * A code editor: a `<textarea>` with line numbers, indentation by Tab and Shift+Tab, the place of the caret, and
 * problems as links to their place. Escape, then Tab, leaves it. `id` is unique in the page.
 */
export const codeEditor = ({
  id,
  label,
  text: initial = '',
  rows = Math.min(24, Math.max(6, lineCount(initial) + 1)),
}: {
  readonly id: string
  readonly label: string
  readonly text?: string
  readonly rows?: number
}): CodeEditor => {
  const text = signal(normalizeLineEndings(initial))
  const line = signal(1)
  const column = signal(1)
  const count = computed(() => lineCount(text.value))
  const numbers = computed(() => Array.from({ length: count.value }, (_, at) => at + 1).join('\n'))
  const isTooLong = computed(() => text.value.length > MAX_LENGTH)
  /** Tab leaves: after Escape, and on the way through the page, until somebody types or clicks. */
  let isLeaving = true

  const place = (event: Event) => {
    const area = areaIn(event)
    const at = positionAt(
      area.value,
      area.selectionDirection === 'backward' ? area.selectionStart : area.selectionEnd,
    )
    line.value = at.line
    column.value = at.column
  }

  const edit = (event: KeyboardEvent): Edit | undefined => {
    const { value, selectionStart: start, selectionEnd: end } = areaIn(event)
    if (event.key === 'Enter') return newLine(value, start, end)
    return event.shiftKey ? outdent(value, start, end) : indent(value, start, end)
  }

  const onKey = (event: KeyboardEvent) => {
    const isTab = event.key === 'Tab'
    const isPlain = !(event.ctrlKey || event.metaKey || event.altKey || event.isComposing)
    const leaves = isTab && isLeaving
    if (!isTab && event.key !== 'Shift') isLeaving = event.key === 'Escape'
    if (
      areaIn(event).readOnly ||
      leaves ||
      !isPlain ||
      !(isTab || (event.key === 'Enter' && !event.shiftKey))
    )
      return
    event.preventDefault()
    const change = edit(event)
    if (change !== undefined) apply(areaIn(event), change)
  }

  const go = (problem: Diagnostic) => {
    const area = document.getElementById(id) as HTMLTextAreaElement
    const at = offsetAt(area.value, problem)
    area.focus()
    area.setSelectionRange(at, at)
    scrollTo(area, problem.line)
    line.value = problem.line
    column.value = problem.column
  }

  const mark = (kind: string, at: number) =>
    html`<i class=${kind} ${ref((node) => (node as HTMLElement | undefined)?.style.setProperty('--at', `${at - 1}`))}></i>`

  return {
    text,
    view: ({ problems = [], error, readonly = false } = {}) => html`
      <div class="code">
        <div class="code-head">
          <label for=${id}>${label}</label>
          <span class=${isTooLong.value ? 'code-place code-wrong' : 'code-place'}>
            ${text.value.length > MAX_LENGTH * 0.8 ? html`${text.value.length.toLocaleString('en')} of ${MAX_LENGTH.toLocaleString('en')} characters · ` : nothing}
            Line ${line.value}, column ${column.value}
          </span>
        </div>
        <div class="code-box">
          <div class="code-gutter" aria-hidden="true"><pre>${numbers.value}</pre>
            ${problems.slice(0, 100).map((problem) => mark('code-problem', problem.line))}</div>
          <div class="code-area">
            <div class="code-current" aria-hidden="true">${mark('code-line', line.value)}</div>
            <textarea
              id=${id}
              wrap="off"
              rows=${rows}
              spellcheck="false"
              autocomplete="off"
              autocapitalize="off"
              ?readonly=${readonly}
              aria-describedby=${`${id}-hint${problems.length > 0 ? ` ${id}-problems` : ''}`}
              aria-invalid=${String(problems.length > 0 || error !== undefined || isTooLong.value)}
              .value=${live(text.value)}
              @input=${(event: Event) => {
                isLeaving = false
                text.value = areaIn(event).value
                place(event)
              }}
              @keydown=${onKey}
              @keyup=${place}
              @click=${(event: Event) => {
                isLeaving = false
                place(event)
              }}
              @select=${place}
              @blur=${() => {
                isLeaving = true
              }}
              @scroll=${(event: Event) => {
                const area = areaIn(event)
                area.closest<HTMLElement>('.code-box')!.style.setProperty('--scrolled', `${area.scrollTop}px`)
              }}
            ></textarea>
          </div>
        </div>
        <p class="code-hint" id="${id}-hint">
          ${readonly ? 'Read only.' : 'Once you type, Tab indents. Escape, then Tab, leaves the editor.'}
          ${error === undefined ? nothing : html`<span class="error">${error}</span>`}
        </p>
        ${
          problems.length === 0
            ? nothing
            : html`<ul class="code-problems" id="${id}-problems" aria-label="Problems in ${label}">
                ${problems.map(
                  (problem) => html`<li>
                    <button type="button" class="plain" @click=${() => go(problem)}>
                      Line ${problem.line}, column ${problem.column}
                    </button>
                    ${problem.message}
                  </li>`,
                )}
              </ul>`
        }
      </div>
    `,
  }
}
